// Features of LXD that gantryd lacks: keys, devices and types pass where the server has the API extension, and are refused with its
// name elsewhere. On the simulation and on a stock LXD.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli } from '../../support/cli/io.ts';
import { useCliWorld } from '../../support/cli/world.ts';
import { realRuntimeMissing } from '../../support/daemons/daemon.ts';
import { containerWith, network, openBench, profileWith, type Bench } from '../../support/cli/daemon-with-manifests.ts';
import { stockLxdMissing } from '../../support/hosts/stock-lxd.ts';

const missingLxd = stockLxdMissing() ?? (await realRuntimeMissing());
if (missingLxd !== undefined) console.log(`skipped: keys of LXD on a stock LXD: ${missingLxd}`);

const ofLxd = {
  server: 'kind: server_config\nconfig: { core.shutdown_timeout: 6, core.bgp_asn: 65000 }\n',
  pool: 'kind: storage_pool\nname: p1\ndriver: dir\nconfig: { rsync.compression: off, volume.security.shifted: "Yes" }\n',
  volume:
    'kind: storage_volume\nname: shared\npool: p1\nconfig: { security.shifted: "TRUE", snapshots.expiry: 1w 2d }\n',
  profile: `kind: profile
name: of-lxd
config: { linux.sysctl.net.core.somaxconn: 1024, migration.stateful: "true", security.syscalls.deny: "mknod\\nkexec_load\\n" }
devices:
  eth0: { type: nic, network: ${network}, security.port_isolation: yes, ipv4.routes: 10.4.0.0/16 }
  routed: { type: nic, nictype: routed, parent: lo, ipv4.address: "10.0.0.5,10.0.0.6" }
  data: { type: disk, source: /tmp, path: /x, required: no, raw.mount.options: noexec }
  tpm: { type: tpm, path: /dev/tpm0 }
  hot: { type: unix-hotplug, vendorid: "046d" }
`,
};

describe.skipIf(missingLxd !== undefined)('on a stock LXD', () => {
  let bench: Bench;
  let original: Bench['parts'];
  beforeAll(async () => {
    bench = await openBench('lxd');
    original = bench.parts;
  });
  afterAll(() => bench.close());

  test('its own keys, devices and types are written, compared, exported, and have an empty plan', async () => {
    bench.parts = { ...original, ...ofLxd };
    await bench.settle();
    const { config, devices } = (await bench.get('/1.0/profiles/of-lxd')) as Record<string, Record<string, unknown>>;
    expect(config).toMatchObject({ 'linux.sysctl.net.core.somaxconn': '1024' });
    expect(devices).toMatchObject({ routed: { nictype: 'routed' }, tpm: { type: 'tpm' } });
    const written = join(bench.dir, 'exported.yaml');
    const host = ['--host', `unix://${bench.daemon.socketPath}`];
    const run = await cli(['export', 'profile/of-lxd', 'storage_volume', '-o', written, ...host]);
    expect([run.code, run.stderr]).toEqual([0, expect.not.stringContaining('left out')]);
    const again = await cli(['plan', written, '--detailed-exitcode', ...host]);
    expect([again.code, again.stdout], again.stderr).toEqual([0, expect.stringContaining('No changes')]);
    // Another spelling of the same value is no change; another value is one.
    bench.parts = { ...bench.parts, server: ofLxd.server.replace(' 6', ' "7"').replace('1H', '"1H"') };
    expect(await bench.planned()).toEqual(['server_config/server: update live']);
    await bench.apply();
    bench.parts = original;
    await bench.apply('--prune', '--set', 'default', '--allow-destroy', '--prune-limit', '100%');
  });

  test('the plan shows the effect of such a key on a running container, and the apply has that effect', async () => {
    bench.parts = {
      ...original,
      container: containerWith('config: { security.syscalls.intercept.setxattr: false }\n'),
    };
    expect(await bench.planned()).toEqual(['container/c1: update restart restart']);
    await bench.settle();
    bench.parts = original;
    await bench.apply();
  });

  test('keys that a pool writes into its volumes belong to the server, also when the set owns all keys', async () => {
    const pool =
      'kind: storage_pool\nname: p2\ndriver: dir\nconfig: { volume.snapshots.expiry: 3d, volume.size: 1GiB }\n';
    const volume = 'kind: storage_volume\nname: heir\npool: p2\nmanage: { mode: exact }\n';
    bench.parts = { ...original, pool2: pool, volume };
    await bench.apply();
    expect((await bench.get('/1.0/storage-pools/p2/volumes/custom/heir')).config).toMatchObject({
      'snapshots.expiry': '3d',
    });
    await bench.expectSettled();
    const run = await cli(['export', 'storage_volume/p2/heir', '--host', `unix://${bench.daemon.socketPath}`]);
    expect(run.stdout).not.toContain('snapshots.expiry');
    // A value other than the pool's is a user's choice, and is removed.
    await bench.daemon.call('PATCH', '/1.0/storage-pools/p2/volumes/custom/heir', {
      config: { 'snapshots.expiry': '9d' },
    });
    expect((await bench.gantry('plan')).stdout).toContain('- config.snapshots.expiry = "9d"');
    await bench.settle();
    bench.parts = original;
    await bench.apply('--prune', '--set', 'default', '--allow-destroy', '--prune-limit', '100%');
  });

  test('an unknown key is reported, passed on, and refused by the server itself', async () => {
    bench.parts = { ...original, profile: profileWith('').replace('config: {', 'config: { security.novelty: 1,') };
    const plan = await bench.gantry('plan');
    expect([plan.code, plan.stderr + plan.stdout]).toEqual([
      0,
      expect.stringContaining('config.security.novelty is unknown to gantry'),
    ]);
    const refused = await bench.gantry('apply', '--auto-approve');
    expect([refused.code, refused.stderr]).toEqual([1, expect.stringContaining('security.novelty')]);
    bench.parts = original;
    await bench.apply();
  });
});

describe('on gantryd', () => {
  const cliWorld = useCliWorld();
  test('they are refused with the missing extension, before any change', async () => {
    const path = cliWorld.manifest(Object.values(ofLxd).join('---\n'));
    const run = await cli(['apply', path, '--auto-approve', '--host', cliWorld.daemon.host]);
    expect(run.code).toBe(1);
    for (const text of [
      'config.core.bgp_asn: it does not know the API extension network_bgp',
      'config.migration.stateful: it does not know the API extension migration_stateful',
      'devices.tpm.type: it does not know the API extension tpm_device_type',
    ])
      expect(run.stderr).toContain(text);
    expect(cliWorld.daemon.requests.filter(({ method }) => method !== 'GET')).toEqual([]);
  });

  test('validate lists them and passes; typing errors are errors with a suggestion', async () => {
    const valid = await cli(['validate', cliWorld.manifest(Object.values(ofLxd).join('---\n'))]);
    expect([valid.code, valid.stderr]).toEqual([
      0,
      expect.stringContaining('servers with the API extension migration_stateful; gantryd does not have it'),
    ]);
    const path = join(cliWorld.folder, 'slips.yaml');
    writeFileSync(
      path,
      'kind: profile\nname: a\nconfig: { linux.sysctl: 1, security.syscalls.intercept.mknot: yes, nonsense.key: 1 }\n' +
        'devices: { e: { type: nic, nictype: bridged, parent: br0, security.port_isolatio: yes } }\n',
    );
    const slips = await cli(['validate', path]);
    expect(slips.code).toBe(1);
    expect(slips.stderr).toContain('did you mean security.syscalls.intercept.mknod?');
    expect(slips.stderr).toContain('unknown key "nonsense.key"');
    expect(slips.stderr).toContain('did you mean security.port_isolation?');
  });

  test('explain describes them', async () => {
    const run = await cli(['explain', 'container.config.migration.stateful']);
    expect([run.code, run.stdout]).toEqual([0, expect.stringContaining('API extension migration_stateful')]);
    expect(run.stdout).toContain('restart');
    expect((await cli(['explain', 'network.config.dns.search'])).stdout).toContain('network_dns_search');
    expect((await cli(['explain', 'container.config.security.novelty'])).code).toBe(1);
  });
});
