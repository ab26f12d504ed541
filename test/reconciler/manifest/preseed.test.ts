// Preseed documents: dumps of servers, our additional lists, no removals, and problems with their place.
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { loadManifests } from '../../../reconciler/manifest/load.ts';
import type { Loaded } from '../../../reconciler/manifest/load-contract.ts';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { makeDaemon, type TestDaemon } from '../../support/daemons/daemon.ts';
import { startStockLxd, stockLxdMissing, type StockLxd } from '../../support/hosts/stock-lxd.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const folder = tempFolder('gantry-preseed-');
const load = (stdin: string): Promise<Loaded> => loadManifests({ paths: ['-'], stdin });

const preseed = `
config: { images.remote_cache_expiry: 7 }
storage_pools:
  - { name: pre, driver: dir }
storage_volumes:
  - { name: data, pool: pre, type: custom, content_type: filesystem, config: { user.a: 1 } }
networks: []
profiles:
  - name: preweb
    config: { limits.memory: 64MiB }
    devices:
      root: { path: /, pool: pre, type: disk }
projects:
  - { name: default, description: The project of every server, config: { features.images: "true" } }
cluster: null
containers:
  - { name: prec, profiles: [preweb], source: { type: none }, state: stopped, manage: { protect: true } }
`;

describe('a preseed document', () => {
  test('is one document for each entry of its lists, and prunes nothing', async () => {
    const { documents, diagnostics } = await load(preseed);
    expect(diagnostics).toEqual([]);
    expect(documents.map(({ address }) => address)).toEqual([
      'server_config/server',
      'storage_pool/pre',
      'storage_volume/pre/data',
      'profile/preweb',
      'container/prec',
    ]);
    expect(documents.map(({ manage }) => [manage.prune, manage.protect])).toEqual([
      [false, false],
      [false, false],
      [false, false],
      [false, false],
      [false, true],
    ]);
    expect(documents[1]?.location).toMatchObject({ file: '<stdin>', line: 4 });
  });

  test('has its problems reported at their places', async () => {
    const { diagnostics } = await load(
      'profiles:\n  - name: a\n    config: { limits.memory: 1 gig }\n  - nme: b\nnetworks: 5\n',
    );
    expect(diagnostics.map(({ code, line, path }) => [code, line, path])).toEqual([
      ['bad-value', 3, 'config.limits.memory'],
      ['missing-key', 4, 'name'],
      ['unknown-key', 4, 'nme'],
      ['bad-value', 5, 'networks'],
    ]);
  });

  test('a preseed document with a key that it does not have is refused, and so are clusters', async () => {
    const codes = async (text: string): Promise<readonly string[]> =>
      (await load(text)).diagnostics.map(({ code, message }) => `${code}: ${message}`);
    expect(await codes('profiles: []\nnetwrks: []\n')).toEqual([
      'unknown-key: a preseed document has no netwrks (did you mean networks?)',
    ]);
    expect(await codes('cluster: { enabled: true }\n')).toEqual([
      'not-available: clusters are not managed in this version',
    ]);
  });

  test('has projects with contents; default is skipped, since every server has it', async () => {
    const { documents, diagnostics } = await load(
      'projects: [{ name: default }, { name: other, config: { features.networks: true } }]\n' +
        'profiles: [{ name: a, project: other }, { name: a, project: default }]\n' +
        'networks: [{ name: br7, project: other }]\n',
    );
    expect(diagnostics).toEqual([]);
    expect(documents.map(({ address }) => address).sort()).toEqual([
      'network/br7@other',
      'profile/a',
      'profile/a@other',
      'project/other',
    ]);
  });
});

describe('applied', () => {
  let daemon: TestDaemon;
  beforeAll(async () => (daemon = await makeDaemon({ runtime: 'sim' })));
  afterAll(() => daemon.cleanUp());

  test('its settings are live, and a shorter one removes nothing', async () => {
    const run = (text: string, ...argv: string[]): Promise<CliRun> => {
      writeFileSync(join(folder, 'preseed.yaml'), text);
      return cli([...argv, '-f', join(folder, 'preseed.yaml'), '--host', `unix://${daemon.socketPath}`]);
    };
    const applied = await run(preseed, 'apply', '-y');
    expect(applied.stdout + applied.stderr).toContain('Apply complete! 4 added, 1 changed');
    expect(await run(preseed, 'plan', '-detailed-exitcode')).toMatchObject({ code: 0 });
    const shorter = 'profiles:\n  - { name: preweb, description: Shorter }\n';
    expect((await run(shorter, 'apply', '-y', '--set', 'default', '--prune')).stdout).toContain(
      '0 added, 1 changed, 0 destroyed',
    );
    expect(await daemon.get('/1.0/profiles/preweb')).toMatchObject({
      description: 'Shorter',
      devices: { root: { pool: 'pre' } },
    });
    expect(await daemon.get('/1.0/containers')).toHaveLength(1);
  });
});

const missing = stockLxdMissing();
if (missing !== undefined) console.log(`skipped: dumps of a stock LXD: ${missing}`);
describe.skipIf(missing !== undefined)('a dump of a stock LXD', () => {
  let lxd: StockLxd;
  beforeAll(async () => (lxd = await startStockLxd()));
  afterAll(() => lxd.cleanUp());

  test('changes nothing there, and has an empty plan after an apply', async () => {
    await lxd.call('POST', '/1.0/storage-pools', { name: 'pre', driver: 'dir' });
    await lxd.call('POST', '/1.0/storage-pools/pre/volumes/custom', { name: 'data', type: 'custom' });
    await lxd.call('PUT', '/1.0/profiles/default', { devices: { root: { type: 'disk', path: '/', pool: 'pre' } } });
    const dump = execFileSync('lxd', ['init', '--dump'], {
      env: { ...process.env, LXD_DIR: lxd.dir },
      encoding: 'utf8',
    });
    expect(dump).toContain('storage_pools:');
    writeFileSync(join(folder, 'dump.yaml'), dump);
    const planned = await cli([
      'plan',
      '-f',
      join(folder, 'dump.yaml'),
      '-detailed-exitcode',
      '--host',
      `unix://${lxd.socketPath}`,
    ]);
    expect(planned.stdout).toContain('Plan: 0 to add, 0 to change, 0 to destroy, 2 to take over as they are');
    const host = ['--host', `unix://${lxd.socketPath}`];
    expect(await cli(['apply', '-y', '-f', join(folder, 'dump.yaml'), ...host])).toMatchObject({ code: 0 });
    expect(await cli(['plan', '-detailed-exitcode', '-f', join(folder, 'dump.yaml'), ...host])).toMatchObject({
      code: 0,
    });
  });

  test('computed members are left out with a warning, also in a pasted `show` with a kind', async () => {
    const dump = `config: { core.trust_password: true, core.https_address: "[::]:8443" }
storage_pools:
  - { name: p, driver: dir, used_by: [/1.0/profiles/default], status: Created, locations: [none], config: { volatile.initial_source: /x } }
networks:
  - { name: br1, type: bridge, managed: true, status: Created, used_by: [], config: { volatile.bridge.hwaddr: "00:16:3e:00:00:01", ipv6.address: none } }
storage_volumes:
  - { name: v, pool: p, type: custom, content_type: filesystem, used_by: [], location: none, created_at: "2020-01-01T00:00:00Z" }
---
kind: container
name: c1
type: container
architecture: ""
status: Running
status_code: 103
stateful: false
expanded_config: { a: b }
last_used_at: "2020-01-01T00:00:00Z"
source: { type: none }
config: { volatile.eth0.hwaddr: "00:16:3e:00:00:01" }
`;
    const { documents, diagnostics } = await load(dump);
    expect(diagnostics.map(({ severity, code, message }) => `${severity} ${code}: ${message}`)).toEqual([
      expect.stringContaining('warning write-only-key: core.trust_password is left out') as string,
      'warning computed-member: used_by, status, locations, config.volatile.initial_source: the server computes them, so they are left out',
      expect.stringContaining('status, used_by, config.volatile.bridge.hwaddr') as string,
      expect.stringContaining('used_by, location, created_at') as string,
      expect.stringContaining('status, status_code, stateful, expanded_config, last_used_at') as string,
    ]);
    expect(diagnostics.every(({ severity }) => severity === 'warning')).toBe(true);
    const valuesOf = (address: string) => documents.find((one) => one.address === address)?.values;
    expect(valuesOf('server_config/server')).toEqual({ config: { 'core.https_address': '[::]:8443' } });
    expect(valuesOf('network/br1')).toEqual({ type: 'bridge', config: { 'ipv6.address': 'none' } });
    expect(valuesOf('storage_volume/p/v')).toEqual({ pool: 'p' });
    expect(valuesOf('container/c1')).toMatchObject({ config: { 'volatile.eth0.hwaddr': '00:16:3e:00:00:01' } });
  });
});
