// GET /1.0/metrics: the metrics of containers, operations and requests, and a tenant's view of them.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { figuresOf } from '../../../server/services/server/metric-figures.ts';
import { metricsText } from '../../../server/services/server/metrics-text.ts';
import {
  parseCpus1,
  parseCpus2,
  parseDisks1,
  parseDisks2,
  parseMemoryStat,
  parseNetDev,
} from '../../../server/drivers/runtime/cgroup/usage.ts';
import { openSharedHost, type SharedHost } from '../../support/hostile/shared-host.ts';

let host: SharedHost;
beforeAll(async () => {
  host = await openSharedHost();
  await host.admin.ok('PUT', '/1.0/containers/own/state?project=mine', { action: 'start' });
  await host.admin.ok('PUT', '/1.0/containers/victim/state?project=theirs', { action: 'start' });
});
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
    for (const mode of ['system', 'user'])
      expect(valueOf(text, `lxd_cpu_seconds_total{cpu="0",mode="${mode}",${labels}}`)).toBeGreaterThan(0);
    expect(valueOf(text, `lxd_memory_MemTotal_bytes{${labels}}`)).toBe(8 * 1024 ** 3);
    const [total, free, available, rss] = ['MemTotal', 'MemFree', 'MemAvailable', 'RSS'].map((figure) =>
      valueOf(text, `lxd_memory_${figure}_bytes{${labels}}`),
    ) as [number, number, number, number];
    expect(free + valueOf(text, `gantry_memory_usage_bytes{${labels}}`)).toBe(total);
    expect(available).toBe(free + valueOf(text, `lxd_memory_Cached_bytes{${labels}}`));
    expect(rss).toBeGreaterThan(0);
    const disk = new RegExp(
      `^lxd_filesystem_size_bytes{device="",fstype="[^"]+",mountpoint="/",name="${name}",project="${project}"} (.*)$`,
      'm',
    );
    expect(Number(disk.exec(text)?.[1])).toBeGreaterThan(1024 * 1024);
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
    expect(text).toContain('lxd_procs_total{name="own",project="mine",type="container"}');
    expect(text).not.toMatch(/theirs|victim|default|gantry_api_requests_total|process_|event_loop|uptime/);
  }
  expect((await host.tenant('GET', '/1.0/metrics?project=theirs')).status).toBe(404);
});

test('a guest cannot inject lines by an interface name, and adds a limited number with many interfaces', () => {
  const counters = { bytes: 1, packets: 1, errs: 0, drop: 0 };
  const names = ['a"} 1\nlxd_x 2\\', ...Array.from({ length: 100 }, (_, index) => `d${index}`)];
  const memory = { usage: 1, usage_peak: 1, swap_usage: 0, swap_usage_peak: 0 };
  const one = {
    name: 'c',
    project: 'default',
    metrics: { initPid: 1, processes: 1, cpuUsageNs: 1, memory, network: {} },
    usage: {
      cpus: [],
      memory: parseMemoryStat(''),
      memoryTotal: 1,
      disks: [],
      interfaces: Object.fromEntries(names.map((name) => [name, { receive: counters, transmit: counters }])),
    },
  };
  const text = metricsText(figuresOf([one]));
  const labels = 'name="c",project="default",type="container"';
  expect(text).toContain(`lxd_network_receive_bytes_total{device="a\\"} 1\\nlxd_x 2\\\\",${labels}} 1\n`);
  expect(text.split('\n').filter((line) => line.startsWith('lxd_network_receive_bytes_total{'))).toHaveLength(32);
  expect(text).not.toMatch(/^lxd_x/m);
});

test('metrics of both cgroup versions are read', () => {
  expect(parseCpus1('cpu user system\n0 1000000000 500000000\n1 0 0\n')).toEqual([
    { cpu: '0', userSeconds: 1, systemSeconds: 0.5 },
    { cpu: '1', userSeconds: 0, systemSeconds: 0 },
  ]);
  expect(parseCpus2('usage_usec 3000000\nuser_usec 2000000\nsystem_usec 1000000\n')).toEqual([
    { cpu: '0', userSeconds: 2, systemSeconds: 1 },
  ]);
  expect(parseMemoryStat('cache 1\nrss 2\ntotal_cache 10\ntotal_rss 20\n')).toMatchObject({ cached: 10, rss: 20 });
  expect(parseMemoryStat('anon 20\nfile 10\nfile_dirty 3\n')).toMatchObject({ cached: 10, rss: 20, dirty: 3 });
  const disk = { device: '999:7', readBytes: 10, writtenBytes: 20, reads: 1, writes: 2 };
  expect(
    parseDisks1('999:7 Read 10\n999:7 Write 20\n999:7 Total 30\nTotal 30\n', '999:7 Read 1\n999:7 Write 2\nTotal 3\n'),
  ).toEqual([disk]);
  expect(parseDisks2('999:7 rbytes=10 wbytes=20 rios=1 wios=2 dbytes=0 dios=0\n')).toEqual([disk]);
  expect(parseNetDev('Inter-|   Receive\n face |bytes\n  a:b: 1 2 3 4 0 0 0 0 5 6 7 8 0 0 0 0\n')).toEqual({
    'a:b': {
      receive: { bytes: 1, packets: 2, errs: 3, drop: 4 },
      transmit: { bytes: 5, packets: 6, errs: 7, drop: 8 },
    },
  });
});
