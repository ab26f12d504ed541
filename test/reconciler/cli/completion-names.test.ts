// Completion of names from files: hosts and environments.
import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { beforeAll, expect, onTestFinished, test } from 'vitest';
import { cli } from '../../support/cli/io.ts';
import { openMemoryDaemon } from '../../support/daemons/in-memory.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const dir = tempFolder('gantry-names-');
beforeAll(() => {
  mkdirSync(join(dir, 'overlays', 'stage'), { recursive: true });
  const patch = 'kind: profile\nname: a\npatch: true\n';
  writeFileSync(join(dir, 'stack.yaml'), 'kind: profile\nname: a\n');
  writeFileSync(join(dir, 'overlays', 'prod.yaml'), patch);
  writeFileSync(join(dir, 'overlays', 'stage', 'x.yaml'), patch);
  writeFileSync(
    join(dir, 'hosts.yaml'),
    'kind: hosts\ngroups: { web: {} }\nhosts:\n  - { name: one, address: "unix:///a", groups: [web] }\n  - { name: two, address: "unix:///b" }\n',
  );
});

/** The completions that bash offers for the words; `gantry` is a stub that prints its arguments. */
async function offered(...words: readonly string[]): Promise<readonly string[]> {
  const { stdout: script } = await cli(['completion', 'bash']);
  const stub = `gantry() { [ "$1 $2" = "completion hosts" ] && printf '%s\\n' one two "@web-$3"; [ "$1 $2" = "completion image" ] && printf '%s\\n' debian/12 debian/13; [ "$1 $2" = "completion environments" ] && printf '%s\\n' prod "stage-$3"; }`;
  const typed = ['gantry', ...words].map((word) => `'${word}'`).join(' ');
  const code = `${stub}\n${script}\nCOMP_WORDS=(${typed}); COMP_CWORD=${words.length}; COMP_LINE="\${COMP_WORDS[*]}"; _gantry 2>/dev/null; printf '%s\\n' "\${COMPREPLY[@]}"`;
  return execFileSync('bash', ['-c', code], { encoding: 'utf8' }).trimEnd().split('\n');
}

test('The command lists names of hosts, groups and environments', async () => {
  expect((await cli(['completion', 'environments', join(dir, 'stack.yaml')])).stdout).toBe('prod\nstage\n');
  expect((await cli(['completion', 'hosts', join(dir, 'hosts.yaml')])).stdout).toBe('one\ntwo\n@web\n');
  const none = await cli(['completion', 'hosts', join(dir, 'nowhere.yaml')]);
  expect([none.code, none.stdout]).toEqual([0, '']);
});

test('Completion offers these names where a command expects them', async () => {
  expect(await offered('plan', '-f', 'my.yaml', '--env', 'sta')).toEqual(['stage-my.yaml']);
  expect(await offered('plan', '--env=p')).toEqual(['--env=prod']);
  expect(await offered('apply', '--hosts', 'fleet.yaml', '--host', '@')).toEqual(['@web-fleet.yaml']);
  expect(await offered('apply', '--host', 'o')).toEqual(['one']);
  expect(await offered('exec', '--env', 'p')).not.toContain('prod');
  const { stdout: fish } = await cli(['completion', 'fish']);
  expect(fish).toMatch(/-l env -r -f -a '\(__gantry_names environments/);
  expect(fish).toMatch(/-l host -r -f -a '\(__gantry_hosts/);
});

test('Verbs that take an image of the server are completed with its aliases', async () => {
  for (const verb of [
    ['image', 'delete'],
    ['image', 'refresh'],
    ['image', 'unalias'],
  ])
    expect(await offered(...verb, 'deb')).toEqual(['debian/12', 'debian/13']);
  const { stdout: fish } = await cli(['completion', 'fish']);
  expect(fish).toMatch(/image delete.* -f -a '\(__gantry_names image /);
});

test('The command lists snapshots, sets, keys and remotes as far as they are typed', async () => {
  const memory = await openMemoryDaemon();
  onTestFinished(() => memory.close());
  const names = async (...words: readonly string[]) =>
    (await cli(['completion', ...words], { env: { GANTRY_HOST: memory.host } })).stdout.trimEnd().split('\n');
  await memory.client.create('storage_pool', { name: 'p', driver: 'dir' });
  const root = { type: 'disk', path: '/', pool: 'p' };
  await memory.client.operations.run(() =>
    memory.client.create('container', { name: 'c1', source: { type: 'none' }, devices: { root } }),
  );
  await memory.client.operations.run(() =>
    memory.client.http.send({ method: 'POST', path: '/1.0/containers/c1/snapshots', json: { name: 'before' } }),
  );
  expect(await names('object', 'c')).toEqual(expect.arrayContaining(['c1', 'container/', 'profile/']));
  expect(await names('object', 'profile/')).toEqual(['profile/default']);
  expect(await names('object', 'profiles/d')).toEqual(['profiles/default']);
  expect(await names('object', 'lost/')).toEqual(['']);
  expect(await names('snapshot', 'c')).toEqual(['c1/']);
  expect(await names('snapshot', 'c1/b')).toEqual(['c1/before']);
  const applied = await cli(['apply', '-y', '--set', 'shop', '-f', join(dir, 'stack.yaml')], {
    env: { GANTRY_HOST: memory.host },
  });
  expect(applied.code).toBe(0);
  expect(await names('set')).toEqual(['shop']);
  expect(await names('key', 'cont')).toContain('container');
  expect(await names('key', 'container.con')).toContain('container.config');
  expect(await names('key', 'container.config.limits.mem')).toContain('container.config.limits.memory');
  expect(await names('key', 'nothing.of.it')).toEqual(['']);
  expect(await names('config', 'limits.mem')).toContain('limits.memory=');
  expect(await names('remote')).toEqual(['images', 'ubuntu', 'ubuntu-daily']);
  expect(await names('container')).toEqual(['c1']);
  expect(await names('image')).toEqual(['']);
  expect(await names('address', 'prof')).not.toContain('c1');
  expect(await names('address', 'profile/')).toContain('profile/default');
  expect(await names('source', 'u')).toEqual(['images:', 'ubuntu:', 'ubuntu-daily:']);
});

test('The command goes to the context in use, and gives up a server that does not answer', async () => {
  const silent = createServer().listen(join(dir, 'silent.socket'));
  onTestFinished(() => void silent.close());
  await once(silent, 'listening');
  const env = { XDG_CONFIG_HOME: dir, HOME: dir };
  await cli(['context', 'add', 'lab', `unix://${join(dir, 'silent.socket')}`], { env });
  await cli(['context', 'use', 'lab'], { env });
  expect(await cli(['completion', 'container'], { env })).toMatchObject({
    code: 7,
    stdout: '',
    stderr: expect.stringContaining('no answer in 1.5 s'),
  });
});
