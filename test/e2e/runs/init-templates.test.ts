// Every template of `gantry init` can be applied unchanged, has an empty plan afterwards, and can be destroyed.
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { templates } from '../../../reconciler/cli/verbs/setup/init-templates.ts';
import { cli, type CliRun } from '../../support/cli/io.ts';
import type { TestDaemon } from '../../support/daemons/daemon.ts';
import { useDaemon } from '../../support/daemons/emptied.ts';
import { tempFolder } from '../../support/temp-folder.ts';

let daemon: TestDaemon;
let dir: string;
useDaemon((given) => void (daemon = given));
beforeEach(() => void (dir = join(tempFolder('git-'), 'new')));

async function gantry(...words: readonly string[]): Promise<CliRun> {
  const run = await cli(words, { env: { GANTRY_SOCKET: daemon.socketPath } });
  expect(run.code, `${words.join(' ')}\n${run.stdout}\n${run.stderr}`).toBe(0);
  return run;
}

const flagsOf = (name: string): readonly string[] => {
  if (name === 'environments') return [dir, '--env', 'prod'];
  return name === 'fleet' ? [join(dir, 'stack.yaml'), '--hosts', join(dir, 'hosts.yaml')] : [dir];
};

test.each(Object.keys(templates))(
  'the template %s can be applied unchanged and then has an empty plan',
  async (name) => {
    const made = await gantry('init', dir, '--template', name);
    expect(made.stderr).toContain('Next: gantry plan ');
    await gantry('fmt', '--check', dir);
    if (name === 'fleet') {
      const hosts = join(dir, 'hosts.yaml');
      writeFileSync(hosts, readFileSync(hosts, 'utf8').replace('/var/lib/gantry/unix.socket', daemon.socketPath));
    }
    await gantry('apply', ...flagsOf(name), '-y');
    await gantry('plan', ...flagsOf(name), '--detailed-exitcode');
    const containers = (await daemon.get('/1.0/containers?recursion=1')) as { config: Record<string, string> }[];
    expect(containers).toHaveLength(1);
    if (name === 'environments')
      expect(containers[0]?.config).toMatchObject({ 'limits.memory': '1GiB', 'boot.autostart': 'true' });
    if (name === 'database') {
      expect((await cli(['destroy', dir, '-y'], { env: { GANTRY_SOCKET: daemon.socketPath } })).code).toBe(4);
      const stack = join(dir, 'stack.yaml');
      writeFileSync(stack, readFileSync(stack, 'utf8').replace('protect: true', 'protect: false'));
      await gantry('apply', dir, '-y');
    }
    await gantry('destroy', ...flagsOf(name), '-y');
  },
);

test('init lists its templates after an unknown name, and overwrites no file', async () => {
  const run = await cli(['init', dir, '--template', 'databse']);
  expect(run.code).toBe(64);
  expect(run.stderr).toContain('unknown template "databse" (did you mean database?); the templates are:');
  for (const name of Object.keys(templates)) expect(run.stderr).toContain(`\n  ${name} `);
  await gantry('init', dir);
  const before = readFileSync(join(dir, 'stack.yaml'), 'utf8');
  expect((await gantry('init', dir, '--template', 'fleet')).stderr).toContain('already exists: not changed');
  expect(readFileSync(join(dir, 'stack.yaml'), 'utf8')).toBe(before);
});
