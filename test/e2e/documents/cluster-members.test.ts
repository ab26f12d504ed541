// Networks and pools with config of single members, and containers with a target: in a cluster of one stock LXD; refused elsewhere.
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { makeDaemon } from '../../support/daemons/daemon.ts';
import { StackFolder } from '../../support/cli/stack-folder.ts';
import { startStockLxd, stockLxdMissing, type StockLxd } from '../../support/hosts/stock-lxd.ts';
import { until } from '../../support/until.ts';
import { freePort } from '../../support/hosts/free-port.ts';

const missing = stockLxdMissing();
if (missing !== undefined) console.log(`skipped: config of single members in a cluster: ${missing}`);

const folder = new StackFolder();
const { dir } = folder;
afterAll(() => folder.remove());

const gantry = folder.gantry.bind(folder);

const card = `gtmc${process.pid % 100_000}`;
const bridge = `gtmb${process.pid % 100_000}`;
const pool = (source: string): string =>
  `kind: storage_pool\nname: fast\ndriver: dir\nmember_overrides: { node1: { config: { source: ${source} } } }\n`;
const network = (more = ''): string =>
  `kind: network\nname: ${bridge}\nconfig: { ipv4.address: none, ipv6.address: none }\n${more}`;
const container =
  'kind: container\nname: c1\ntarget: node1\nstate: stopped\nsource: { type: image, alias: base }\ndevices: { root: { type: disk, path: /, pool: fast } }\n';
const image = 'kind: image\nname: base\nfile: image.tar.gz\naliases: [base]\n';

async function makeCluster(lxd: StockLxd): Promise<void> {
  const address = `127.0.0.1:${await freePort()}`;
  expect((await lxd.call('PUT', '/1.0', { config: { 'core.https_address': address } })).status).toBe(200);
  const begun = await lxd.call('PUT', '/1.0/cluster', { server_name: 'node1', enabled: true, server_address: address });
  expect(begun.status, begun.bytes.toString()).toBe(202);
  const ended = await lxd.call('GET', `${String(begun.body.operation)}/wait`);
  expect(ended.metadata.status, ended.metadata.err as string).toBe('Success');
  await until(async () => ((await lxd.get('/1.0/cluster/members')) as string[]).length === 1);
}

describe.skipIf(missing !== undefined)('in a cluster of stock LXD', () => {
  let lxd: StockLxd;
  const run = (verb: string, parts: readonly string[], ...more: readonly string[]): Promise<CliRun> =>
    gantry(lxd.socketPath, verb, parts, ...more);
  const apply = async (parts: readonly string[], ...more: readonly string[]): Promise<void> => {
    const applied = await run('apply', parts, '--auto-approve', ...more);
    expect(applied.code, applied.stdout + applied.stderr).toBe(0);
    const second = await run('plan', parts, '--detailed-exitcode');
    expect(second.code, `a second plan\n${second.stdout}${second.stderr}`).toBe(0);
  };
  beforeAll(async () => {
    lxd = await startStockLxd();
    await makeCluster(lxd);
  });
  afterAll(() => lxd.cleanUp(), 120_000);

  test('one document makes a pool and a network on all members, and a container on the one it names', async () => {
    const source = join(dir, 'pool');
    mkdirSync(source, { recursive: true });
    const parts = [pool(source), network(), image, container];
    await apply(parts);
    expect((await lxd.get('/1.0/storage-pools/fast?target=node1')).config).toMatchObject({ source });
    expect(await lxd.get('/1.0/storage-pools/fast')).toMatchObject({ status: 'Created', locations: ['node1'] });
    expect(await lxd.get(`/1.0/networks/${bridge}`)).toMatchObject({ status: 'Created', locations: ['node1'] });
    expect(await lxd.get('/1.0/containers/c1')).toMatchObject({ location: 'node1' });

    // A pool cannot move: another path is a difference that needs a new pool, which its users prevent.
    const elsewhere = await run('plan', [pool('/elsewhere'), ...parts.slice(1)], '--detailed-exitcode');
    expect(elsewhere.code, elsewhere.stdout).toBe(4);
    expect(elsewhere.stdout).toContain('member_overrides.node1.source cannot be changed in place');

    const exported = await cli([
      'export',
      '--host',
      `unix://${lxd.socketPath}`,
      '-o',
      join(dir, 'exported.yaml'),
      '--force',
    ]);
    expect(exported.code, exported.stderr).toBe(0);
    const again = await cli([
      'plan',
      '-f',
      join(dir, 'exported.yaml'),
      '--host',
      `unix://${lxd.socketPath}`,
      '--detailed-exitcode',
    ]);
    expect(again.stdout + again.stderr).toContain('Plan: 0 to add, 0 to change, 0 to destroy');
  });

  test('config of a single member is compared and changed on that member', async () => {
    const parts = [pool(join(dir, 'pool')), image, container];
    const withCard = (name: string): string =>
      network(`member_overrides: { node1: { config: { bridge.external_interfaces: ${name} } } }\n`);
    const planned = await run('plan', [...parts, withCard('gtnothing0')]);
    expect(planned.stdout).toContain('member_overrides.node1.bridge.external_interfaces');
    execFileSync('ip', ['link', 'add', card, 'type', 'veth', 'peer', 'name', `${card}p`]);
    try {
      await apply([...parts, withCard(card)]);
      const own = await lxd.get(`/1.0/networks/${bridge}?target=node1`);
      expect(own.config).toMatchObject({ 'bridge.external_interfaces': card });
      const drift = { config: { 'bridge.external_interfaces': '' } };
      expect((await lxd.call('PATCH', `/1.0/networks/${bridge}?target=node1`, drift)).status).toBe(200);
      expect((await run('drift', [...parts, withCard(card)])).stdout).toContain('external_interfaces');
      await apply([...parts, withCard('~')]);
    } finally {
      execFileSync('ip', ['link', 'delete', card]);
    }
    const wrong = await run('plan', [
      ...parts,
      network('member_overrides: { nod1: { config: { bridge.external_interfaces: x0 } } }\n'),
    ]);
    expect(wrong.code).toBe(1);
    expect(wrong.stderr).toContain('the cluster has no member nod1 (did you mean node1?)');
    const shared = await run('plan', [
      ...parts,
      network('member_overrides: { node1: { config: { ipv4.nat: true } } }\n'),
    ]);
    expect(shared.stderr).toContain('is the same for all members: put it into config');
    const away = await run('plan', [
      ...parts.slice(0, 2),
      container.replaceAll('c1', 'c2').replace('node1', 'node9'),
      network(),
    ]);
    expect(away.stderr).toContain('the cluster has no member node9');
  });

  test('a half-finished run is continued, and a destroy removes everything', async () => {
    const begun = await lxd.call('POST', '/1.0/storage-pools?target=node1', {
      name: 'half',
      driver: 'dir',
      config: {},
    });
    expect(begun.status, begun.bytes.toString()).toBeLessThan(300);
    const half = 'kind: storage_pool\nname: half\ndriver: dir\n';
    await apply([half]);
    expect(await lxd.get('/1.0/storage-pools/half')).toMatchObject({ status: 'Created' });
    const gone = await run('destroy', [half, pool(join(dir, 'pool')), network(), image, container], '--auto-approve');
    expect(gone.code, gone.stdout + gone.stderr).toBe(0);
    expect(await lxd.get('/1.0/storage-pools')).toEqual([]);
  });
});

describe('on a server outside a cluster', () => {
  test('member config and targets are refused at plan time, each at its place', async () => {
    const daemon = await makeDaemon({ runtime: 'sim' });
    onTestFinished(() => daemon.cleanUp());
    const refused = await gantry(daemon.socketPath, 'plan', [pool('/x'), container]);
    expect(refused.code).toBe(1);
    expect(refused.stderr).toContain(
      'storage_pool/fast: this server cannot take member_overrides: it is not a member of a cluster',
    );
    expect(refused.stderr).toMatch(/stack\.yaml:4:/);
    expect(refused.stderr).toContain('container/c1: this server cannot take target: it is not a member of a cluster');
    expect(refused.stderr).toMatch(/stack\.yaml:8:/);
  });
});
