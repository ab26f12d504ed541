// The reading verbs of the command line: explain, graph, get, diff.
import { execFileSync, spawnSync } from 'node:child_process';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { unifiedDiff } from '../../../../reconciler/core/text/unified-diff.ts';
import { kindNames } from '../../../../server/api/kinds.ts';
import { containerConfigKeys } from '../../../../server/api/container/container-config.ts';
import { networkConfigKeys } from '../../../../server/api/network/network-config.ts';
import { cli, type CliRun } from '../../../support/cli/io.ts';
import { containerWith, openBench, type Bench } from '../../../support/cli/daemon-with-manifests.ts';
import { tempFolder } from '../../../support/temp-folder.ts';
import { subsetVersion } from '../../../../reconciler/manifest/terraform-json/unsupported.ts';

describe('explain', () => {
  const explain = (...argv: readonly string[]): Promise<CliRun> => cli(['explain', ...argv]);

  test('explain shows type, effect and default of manifest keys', async () => {
    expect((await explain()).stdout).toContain('storage_volume');
    const memory = await explain('container.config.limits.memory');
    expect(memory.stdout).toMatch(/^container\.config\.limits\.memory {2}size/);
    expect(memory.stdout).toContain('a change is: live');
    expect((await explain('container.config.security.privileged')).stdout).toContain('a change is: restart');
    expect((await explain('container.config.environment.HOME')).code).toBe(0);
    expect((await explain('network.config.ipv4.dhcp')).stdout).toContain('default: true');
    expect((await explain('container.devices.nic.parent')).stdout).toContain('a change is');
    expect((await explain('container.manage.disruption')).stdout).toContain('none | restart | recreate');
    expect((await explain('container.source')).stdout).toContain('it applies at creation only');
    const json = JSON.parse((await explain('pool.driver', '--json')).stdout) as { facts: object };
    expect(json).toMatchObject({
      path: 'storage_pool.driver',
      facts: { 'a change is': expect.stringContaining('recreate') },
    });
  });

  test('explain names refused parts of Terraform JSON, and the alternative', async () => {
    const all = (await explain('terraform')).stdout;
    for (const part of [`subset ${subsetVersion}`, 'E_DATA', 'E_FUNCTION', 'gantry_container', 'lxd_instance'])
      expect(all).toContain(part);
    expect((await explain('terraform.E_MODULE')).stdout).toContain('remedy: put the module into a folder below');
    expect((await explain('terraform.E_MODUL')).stderr).toContain('did you mean E_MODULE?');
  });

  test('explain suggests the nearest word for a wrong one', async () => {
    expect((await explain('contaner')).stderr).toContain('did you mean container?');
    expect((await explain('container.config.limits.memry')).stderr).toContain('did you mean limits.memory?');
    expect((await explain('container.devices.nik')).stderr).toContain('did you mean nic?');
    expect((await explain('container.profils')).code).toBe(1);
  });

  test('explain knows every kind and every key of the tables', async () => {
    for (const kind of kindNames) expect((await explain(kind)).stdout, kind).toContain(kind);
    for (const key of Object.keys(containerConfigKeys))
      expect((await explain(`container.config.${key}`)).code, key).toBe(0);
    for (const { key } of networkConfigKeys) expect((await explain(`network.config.${key}`)).code, key).toBe(0);
  });
});

describe('graph', () => {
  const stack = `kind: storage_pool\nname: p\ndriver: dir\n---\nkind: profile\nname: 'a"b'\ndevices: {root: {type: disk, path: /, pool: p}}\n`;

  test('graph draws dependencies for Mermaid and for DOT, with quoted names', async () => {
    const dir = tempFolder('gtvb-');
    writeFileSync(join(dir, 's.yaml'), stack);
    const mermaid = await cli(['graph', dir]);
    expect(mermaid.stdout).toBe('graph LR\n  n0["storage_pool/p"]\n  n1["profile/a#quot;b"]\n  n1 --> n0\n');
    const dot = await cli(['graph', '-o', 'dot', '-f', dir]);
    expect(dot.stdout).toContain(String.raw`"profile/a\"b" -> "storage_pool/p";`);
    expect((await cli(['graph', '-o', 'png', dir])).code).toBe(64);
  });
});

describe('get and diff', () => {
  let bench: Bench;
  beforeAll(async () => (bench = await openBench('sim')));
  afterAll(() => bench.close());
  const get = (...argv: readonly string[]): Promise<CliRun> =>
    cli(['get', ...argv, '--host', `unix://${bench.daemon.socketPath}`]);

  test('get lists one kind in every format', async () => {
    expect((await get('containers')).stdout).toMatch(
      /^NAME +STATUS +ADDRESSES +IMAGE +PROFILES.*\nc1 +Running .*small/,
    );
    expect((await get('container', '-o', 'name')).stdout).toBe('c1\n');
    expect((await get('container/c1', '-o', 'yaml')).stdout).toContain('kind: container\n');
    expect(JSON.parse((await get('pool', 'p1', '-o', 'json')).stdout)).toMatchObject({
      kind: 'storage_pool',
      driver: 'dir',
    });
    for (const kind of ['server_config', 'certificate', 'storage_volume', 'network', 'profile', 'image', 'image_alias'])
      expect((await get(kind)).code, kind).toBe(0);
    expect((await get('container', 'c2')).stderr).toContain('container/c2 does not exist (did you mean container/c1?)');
    expect((await get('server_config', '-o', 'name')).stdout).toBe('server\n');
    expect((await get('boat')).code).toBe(64);
    expect((await get('container', '-o', 'xml')).code).toBe(64);
  });

  test('diff shows the changes of an apply, and has the exit codes of diff(1)', async () => {
    const same = await bench.gantry('diff');
    expect([same.code, same.stdout]).toEqual([0, '']);
    bench.parts = {
      ...bench.parts,
      container: containerWith('config: { user.a: x, environment.TOKEN: hush }\nstate: stopped\n'),
      more: 'kind: profile\nname: new\nconfig: { limits.cpu: 2 }\n',
    };
    const run = await bench.gantry('diff');
    expect(run.code, run.stderr).toBe(1);
    expect(run.stdout).toContain('--- /dev/null\n+++ declared/profile/new\n@@ -0,0 +1');
    expect(run.stdout).toContain('--- live/container/c1\n+++ declared/container/c1\n');
    expect(run.stdout).toContain('+  user.a: x\n');
    expect(run.stdout).toContain('-state: running\n+state: stopped\n');
    expect(run.stdout).not.toMatch(/hush|user\.gantry/);
    bench.parts = { ...bench.parts, more: 'kind: boat\n' };
    expect((await bench.gantry('diff')).code).toBe(2);
    expect((await cli(['diff', join(bench.dir, 'nowhere.yaml')])).code).toBe(2);
  });
});

describe('unified diffs', () => {
  test.skipIf(spawnSync('patch', ['--version']).status !== 0)(
    'patch(1) turns one text into the other with a unified diff',
    () => {
      const dir = tempFolder('gtud-');
      const lines = fc
        .array(fc.constantFrom('a', 'b', 'c', 'd'), { maxLength: 14 })
        .map((all) => all.map((one) => `${one}\n`).join(''));
      try {
        fc.assert(
          fc.property(lines, lines, (before, after) => {
            const diff = unifiedDiff(before, after);
            expect(diff === '').toBe(before === after);
            if (diff === '') return;
            const file = join(dir, 'text');
            writeFileSync(file, before);
            const patched = execFileSync('patch', ['-s', file, '-o', '-'], { input: `--- text\n+++ text\n${diff}` });
            expect(patched.toString()).toBe(after);
          }),
          { numRuns: 40 },
        );
      } finally {
        rmSync(dir, { recursive: true, force: true });
      }
    },
  );
});
if (spawnSync('patch', ['--version']).status !== 0)
  console.log('skipped: unified diffs against patch(1): it is not installed');
