// GET /1.0/metrics: the figures of containers, operations and requests, and what a tenant gets of them.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { figuresOf } from '../../../server/services/server/metric-figures.ts';
import { metricsText } from '../../../server/services/server/metrics-text.ts';
import { openSharedHost, type SharedHost } from '../../support/hostile/shared-host.ts';

let host: SharedHost;
beforeAll(async () => {
  host = await openSharedHost();
  await host.admin.ok('PUT', '/1.0/containers/own/state?project=mine', { action: 'start' });
  await host.admin.ok('PUT', '/1.0/containers/victim/state?project=theirs', { action: 'start' });
}, 120_000);
afterAll(() => host.cleanUp());

const asAdmin = async (query = ''): Promise<string> =>
  (await host.admin.call('GET', `/1.0/metrics${query}`)).bytes.toString();
const valueOf = (text: string, sample: string): number => {
  const line = text.split('\n').find((each) => each.startsWith(`${sample} `));
  if (line === undefined) throw new Error(`There is no sample ${sample} in\n${text}`);
  return Number(line.slice(sample.length + 1));
};

test('a trusted caller gets the figures of every project and of the server', async () => {
  const answer = await host.admin.call('GET', '/1.0/metrics');
  expect(answer.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
  const text = answer.bytes.toString();
  expect(valueOf(text, 'gantry_containers{project="theirs",status="Running"}')).toBe(1);
  expect(valueOf(text, 'gantry_containers{project="theirs",status="Stopped"}')).toBe(1);
  for (const [name, project] of [
    ['own', 'mine'],
    ['victim', 'theirs'],
  ]) {
    const labels = `name="${name}",project="${project}",type="container"`;
    expect(valueOf(text, `lxd_cpu_seconds_total{${labels}}`)).toBeGreaterThan(0);
    expect(valueOf(text, `lxd_procs_total{${labels}}`)).toBe(3);
    expect(valueOf(text, `gantry_memory_usage_bytes{${labels}}`)).toBeGreaterThan(1024 * 1024);
    expect(valueOf(text, `lxd_memory_Swap_bytes{${labels}}`)).toBe(0);
  }
  const eth0 = 'device="eth0",name="victim",project="theirs",type="container"';
  expect(valueOf(text, `lxd_network_receive_bytes_total{${eth0}}`)).toBeGreaterThan(0);
  expect(valueOf(text, `lxd_network_transmit_packets_total{${eth0}}`)).toBeGreaterThan(0);
  expect(valueOf(text, 'process_resident_memory_bytes')).toBeGreaterThan(1024 * 1024);
  expect(valueOf(text, 'gantry_event_loop_longest_seconds')).toBeGreaterThanOrEqual(0);
});

test('a container that does not run has no figures', async () => {
  expect(await asAdmin()).not.toContain('name="base"');
});

test('requests are counted by endpoint and code', async () => {
  await host.admin.call('GET', '/1.0/containers/nobody');
  const before = valueOf(await asAdmin(), 'gantry_api_requests_total{endpoint="containers.get",code="404"}');
  await host.admin.call('GET', '/1.0/containers/nobody');
  expect(valueOf(await asAdmin(), 'gantry_api_requests_total{endpoint="containers.get",code="404"}')).toBe(before + 1);
});

test('operations under way are counted by project', async () => {
  const exec = await host.admin.call('POST', '/1.0/containers/own/console?project=mine', {});
  expect(exec.status).toBe(202);
  expect(valueOf(await asAdmin(), 'lxd_operations_total{project="mine"}')).toBe(1);
  expect(await asAdmin('?project=theirs')).not.toContain('lxd_operations_total');
});

test('a named project limits the figures to it', async () => {
  const text = await asAdmin('?project=theirs');
  expect(text).toContain('name="victim"');
  expect(text).not.toMatch(/project="mine"|gantry_api_requests_total|process_/);
});

test('a tenant gets the figures of its own projects and none of the server', async () => {
  for (const query of ['', '?project=mine']) {
    const text = (await host.tenant('GET', `/1.0/metrics${query}`)).bytes.toString();
    expect(text).toContain('lxd_cpu_seconds_total{name="own",project="mine",type="container"}');
    expect(text).not.toMatch(/theirs|victim|default|gantry_api_requests_total|process_|event_loop|uptime/);
  }
  expect((await host.tenant('GET', '/1.0/metrics?project=theirs')).status).toBe(404);
});

test('a guest adds no lines with the name of an interface, and only some with many interfaces', () => {
  const counters = { bytes_received: 1, bytes_sent: 1, packets_received: 1, packets_sent: 1 };
  const nic = {
    addresses: [],
    counters,
    hwaddr: '',
    host_name: '',
    mtu: 1500,
    state: 'up',
    type: 'broadcast',
  };
  const names = ['a"} 1\nlxd_x 2\\', ...Array.from({ length: 100 }, (_, index) => `d${index}`)];
  const state = {
    status: 'Running',
    status_code: 103,
    cpu: { usage: 1 },
    disk: {},
    memory: { usage: 1, usage_peak: 1, swap_usage: 0, swap_usage_peak: 0 },
    network: Object.fromEntries(names.map((name) => [name, nic])),
    pid: 1,
    processes: 1,
  };
  const text = metricsText(figuresOf([{ labels: { name: 'c' }, state }]));
  expect(text).toContain('lxd_network_receive_bytes_total{device="a\\"} 1\\nlxd_x 2\\\\",name="c"} 1\n');
  expect(text.split('\n').filter((line) => line.startsWith('lxd_network_receive_bytes_total{'))).toHaveLength(32);
  expect(text).not.toMatch(/^lxd_x/m);
});
