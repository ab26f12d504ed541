// Flags and variables of other tools, and flags for pipelines: through the command line, against a test daemon.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { useCliWorld } from '../../support/cli/world.ts';

const world = useCliWorld();
const gantry = (...argv: readonly string[]): Promise<CliRun> => cli([...argv, '--host', world.daemon.host]);
const profile = 'kind: profile\nname: a\nconfig: { user.note: x, environment.DB_PASSWORD: hunter2 }\n';

describe('flags of pipelines', () => {
  test('--expect-no-changes shows the plan, applies nothing, and exits with 1 when there are changes', async () => {
    const path = world.manifest(profile);
    for (const verb of [['plan'], ['apply', '--auto-approve']]) {
      const run = await gantry(...verb, path, '--expect-no-changes');
      expect([run.code, run.stdout]).toEqual([1, expect.stringContaining('+ profile/a')]);
      expect(run.stderr).toContain('--expect-no-changes');
    }
    expect((await gantry('plan', path, '-o', 'json', '--expect-no-changes')).code).toBe(1);
    expect((await gantry('show', 'profile')).stdout).not.toContain('a');
    expect((await gantry('apply', path, '--auto-approve')).code).toBe(0);
    expect((await gantry('plan', path, '--expect-no-changes')).code).toBe(0);
    expect((await gantry('apply', path, '--expect-no-changes')).code).toBe(0);
  });

  test('--no-input never asks, also on a terminal', async () => {
    const run = await cli(['apply', world.manifest(profile), '--no-input', '--host', world.daemon.host], {
      typed: 'yes\n',
    });
    expect([run.code, run.stderr]).toEqual([64, expect.stringContaining('--auto-approve')]);
  });

  test('--show-secrets shows secrets, in text only', async () => {
    const path = world.manifest(profile);
    expect((await gantry('plan', path)).stdout).not.toContain('hunter2');
    expect((await gantry('plan', path, '--show-secrets')).stdout).toContain('"hunter2"');
    for (const format of ['json', 'yaml', 'markdown', 'junit'])
      expect((await gantry('plan', path, '--show-secrets', '-o', format)).stdout, format).not.toContain('hunter2');
    expect((await gantry('plan', path, '--show-secrets', '--json')).stdout).not.toContain('hunter2');
  });

  test('--no-wait does not wait', async () => {
    const container =
      'kind: container\nname: c\nprofiles: []\nsource: { type: none }\nmanage: { wait: [running] }\n' +
      'devices: { root: { type: disk, path: /, pool: p } }\n---\nkind: storage_pool\nname: p\ndriver: dir\n';
    const path = world.manifest(container);
    const steps = async (...more: readonly string[]): Promise<string> =>
      (await gantry('plan', path, '-o', 'json', ...more)).stdout;
    expect(await steps()).toContain('container/c#wait');
    expect(await steps('--no-wait')).not.toContain('container/c#wait');
  });

  test('A plan can be YAML or JUnit', async () => {
    const path = world.manifest(
      `${profile}---\nkind: profile\nname: default\n---\nkind: profile\nname: "<&>"\n`.replace('"<&>"', 'b'),
    );
    expect((await gantry('plan', path, '-o', 'yaml')).stdout).toMatch(/^format_version: "1.2"$/m);
    const junit = (await gantry('plan', path, '-o', 'junit')).stdout;
    expect(junit).toContain('<testsuite name="gantry apply" tests="3" failures=');
    expect(junit).toContain('<testcase classname="profile" name="a"><failure type="difference" message="to create">');
    expect((await gantry('plan', path, '-o', 'xml')).code).toBe(64);
  });

  test('-R reads subdirectories, but no overlays', async () => {
    for (const [folder, name] of [
      ['a', 'one'],
      ['a/b', 'two'],
      ['overlays', 'never'],
      ['.git', 'never'],
    ] as const) {
      mkdirSync(join(world.folder, 'tree', folder), { recursive: true });
      writeFileSync(join(world.folder, 'tree', folder, 'x.yaml'), `kind: profile\nname: ${name}\n`);
    }
    const run = await cli(['validate', '-R', join(world.folder, 'tree')]);
    expect([run.code, run.stdout]).toEqual([0, expect.stringContaining('2 documents')]);
    expect((await cli(['validate', join(world.folder, 'tree')])).code).toBe(1);
  });
});

describe('flags of other tools', () => {
  const from = process.cwd();
  afterEach(() => process.chdir(from));

  test('-chdir=DIR comes first, as for Terraform, and --remote and --field-manager are accepted', async () => {
    world.manifest(profile);
    const run = await cli([`-chdir=${world.folder}`, 'plan', '--remote', world.daemon.host, '--field-manager=base']);
    expect([run.code, run.stdout]).toEqual([0, expect.stringContaining('+ profile/a')]);
    process.chdir(from);
    const none = await cli(['-chdir=/nowhere/at/all', 'plan']);
    expect([none.code, none.stderr]).toEqual([64, expect.stringContaining('/nowhere/at/all')]);
  });

  test('--format of lxc and docker is --output where a verb has that', async () => {
    for (const words of [
      ['list', '--format', 'json'],
      ['get', 'container', '--format=json'],
      ['--format', 'json', 'ls'],
    ]) {
      const run = await gantry(...words);
      expect([run.code, JSON.parse(run.stdout)]).toEqual([0, []]);
    }
    const csv = await gantry('list', '--format', 'csv');
    expect([csv.code, csv.stderr]).toEqual([64, expect.stringContaining('table, yaml, json, name')]);
    expect((await gantry('events', '--format', 'json')).stderr).toContain("unknown option '--format'");
  });

  test('--refresh-only names the alternative', async () => {
    const run = await cli(['plan', '--refresh-only']);
    expect([run.code, run.stderr]).toEqual([64, expect.stringContaining('gantry drift')]);
  });

  test('suspend and resume are lock and force-unlock', async () => {
    const path = world.manifest(profile);
    expect((await gantry('suspend', '--reason', 'hands off')).code).toBe(0);
    const held = await gantry('apply', path, '--auto-approve');
    expect([held.code, held.stderr]).toEqual([5, expect.stringContaining('hands off')]);
    expect((await gantry('resume', '--auto-approve')).code).toBe(0);
    expect((await gantry('apply', path, '--auto-approve')).code).toBe(0);
  });

  test('Environment variables set flags, variables, project and parallelism', async () => {
    const path = world.manifest(
      'kind: vars\nvars: { NOTE: first }\n---\nkind: profile\nname: a\nconfig: { user.note: $NOTE }\n',
    );
    const env = { GANTRY_HOST: world.daemon.host };
    const plan = async (more: Readonly<Record<string, string>>, ...argv: readonly string[]): Promise<CliRun> =>
      cli(['plan', path, ...argv], { env: { ...env, ...more } });
    expect((await plan({})).stdout).toContain('"first"');
    expect((await plan({ GANTRY_VAR_NOTE: 'second' })).stdout).toContain('"second"');
    expect((await plan({ GANTRY_VAR_NOTE: 'second' }, '--var', 'NOTE=third')).stdout).toContain('"third"');
    expect((await plan({ GANTRY_CLI_ARGS_plan: '--detailed-exitcode  --var NOTE=fourth' })).code).toBe(2);
    expect((await plan({ GANTRY_CLI_ARGS_apply: '--nonsense' })).code).toBe(0);
    expect((await plan({ GANTRY_CLI_ARGS: '--nonsense' })).code).toBe(64);
    const apply = await cli(['apply', path, '--auto-approve'], { env: { ...env, GANTRY_PARALLELISM: 'many' } });
    expect([apply.code, apply.stderr]).toEqual([64, expect.stringContaining('many')]);
    await plan({ GANTRY_PROJECT: 'nowhere' });
    expect(world.daemon.requests.some(({ query }) => query.get('project') === 'nowhere')).toBe(true);
  });
});
