// Verbs that change and watch live objects by hand against a simulated daemon: set, edit, top.
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeAll, expect, test, vi } from 'vitest';
import { renderUses, usesBetween } from '../../../reconciler/cli/verbs/daily/top.ts';
import { paintFor } from '../../../reconciler/cli/output/paint.ts';
import { cli, type CliRun, type CliSetting } from '../../support/cli/io.ts';
import { container, stack } from '../../support/cli/imageless-stack.ts';
import { fileDaemon } from '../../support/daemons/file-daemon.ts';

const daemon = await fileDaemon();
beforeAll(async () => {
  const manifest = join(daemon.dir, 'stack.yaml');
  writeFileSync(manifest, stack(container('web', "config: { user.a: '1' }\n")));
  expect(await gantry(['apply', '-f', manifest, '-y'])).toMatchObject({ code: 0 });
  await daemon.ok('POST', '/1.0/containers', { name: 'own', profiles: ['small'], source: { type: 'none' } });
}, 60_000);

const gantry = (words: readonly string[], setting: CliSetting = {}): Promise<CliRun> =>
  cli(words, { ...setting, env: { GANTRY_SOCKET: daemon.socketPath, ...setting.env } });

const configOf = async (name: string): Promise<Readonly<Record<string, string>>> =>
  ((await daemon.get(`/1.0/containers/${name}`)) as { config: Record<string, string> }).config;

/** An editor that runs this sed script. */
function editor(script: string): CliSetting {
  const path = join(daemon.dir, 'editor.sh');
  writeFileSync(path, `cp "$1" ${join(daemon.dir, 'shown.yaml')}\nsed -i '${script}' "$1"\n`);
  return { typed: '', env: { EDITOR: `sh ${path}` } };
}

test('set changes and removes keys, and names a container that no set declares', async () => {
  const ran = await gantry(['set', 'own', 'user.a=x=y', 'limits.memory=64MiB']);
  expect(ran).toEqual({
    code: 0,
    stdout: 'container/own: user.a set, limits.memory set (no set declares it)\n',
    stderr: '',
  });
  expect(await configOf('own')).toMatchObject({ 'user.a': 'x=y', 'limits.memory': '64MiB' });
  expect((await gantry(['set', 'own', 'user.a='])).stdout).toContain('user.a unset');
  expect(await configOf('own')).not.toHaveProperty(['user.a']);
  const json = await gantry(['set', 'profile/small', 'user.b=1', '--json']);
  expect(JSON.parse(json.stdout)).toEqual({
    kind: 'profile',
    name: 'small',
    action: 'set',
    keys: ['user.b'],
    sets: ['default'],
  });
});

test('set warns that the next apply reverts a declared key, and keeps an undeclared one', async () => {
  const declared = await gantry(['set', 'web', 'user.a=2']);
  expect([declared.code, declared.stderr]).toEqual([0, expect.stringContaining('declares config.user.a')]);
  expect(declared.stderr).toContain('set default (declared in tests)');
  expect(declared.stderr).toContain('its next apply sets it back');
  expect((await gantry(['set', 'web', 'user.other=2'])).stderr).toContain('its next apply leaves it');
  expect(await gantry(['apply', '-f', join(daemon.dir, 'stack.yaml'), '-y'])).toMatchObject({ code: 0 });
  expect(await configOf('web')).toMatchObject({ 'user.a': '1', 'user.other': '2' });
});

test('set refuses a missing object, a word without =, a wrong key and a record of gantry', async () => {
  const before = await configOf('own');
  expect(await gantry(['set', 'nothing', 'user.a=1'])).toMatchObject({ code: 1 });
  const bare = await gantry(['set', 'own', 'user.a']);
  expect([bare.code, bare.stderr]).toEqual([
    64,
    expect.stringContaining('"user.a" is not KEY=VALUE: gantry set own user.a=VALUE'),
  ]);
  expect(bare.stderr).toContain('gantry show container/own shows it');
  expect((await gantry(['set', 'own', '=1'])).stderr).toContain('"=1" is not KEY=VALUE');
  expect(await gantry(['set', 'own', 'limits.memroy=1'])).toMatchObject({ code: 1 });
  expect(await gantry(['set', 'own', 'user.gantry.own.default={}'])).toMatchObject({ code: 64 });
  expect(await configOf('own')).toEqual(before);
});

test('exec and shell in a container that is paused name the verb that lets it continue', async () => {
  await daemon.ok('PUT', '/1.0/containers/web/state', { action: 'freeze' });
  for (const words of [
    ['exec', 'web', 'true'],
    ['shell', 'web'],
  ]) {
    const ran = await gantry(words);
    expect([ran.code, ran.stderr]).toEqual([
      1,
      expect.stringContaining('container/web is frozen: gantry start web lets it continue'),
    ]);
  }
  expect(await gantry(['start', 'web'])).toMatchObject({ code: 0 });
});

test('edit shows the object without records of the server, sends what was saved, and keeps the records', async () => {
  const ran = await gantry(['edit', 'web'], editor('s/user.a: .*/user.a: "3"/'));
  expect(ran).toMatchObject({ code: 0, stdout: 'container/web changed\n' });
  expect(ran.stderr).toContain('declares config.user.a: its next apply sets it back');
  const shown = readFileSync(join(daemon.dir, 'shown.yaml'), 'utf8');
  expect(shown).toContain('of set default');
  expect(shown).not.toMatch(/user\.gantry|volatile/);
  expect(await configOf('web')).toMatchObject({
    'user.a': '3',
    'user.gantry.own.default': expect.any(String) as string,
  });
  expect((await gantry(['edit', 'web'], editor(''))).stdout).toContain('did not change: nothing was sent');
});

test('edit says when the text for the editor cannot be written', async () => {
  vi.stubEnv('TMPDIR', join(daemon.dir, 'no-such-folder'));
  const ran = await gantry(['edit', 'web'], editor('s/a/b/'));
  vi.unstubAllEnvs();
  expect([ran.code, ran.stderr]).toEqual([
    1,
    expect.stringMatching(
      /^Error: cannot write a text for the editor into .*no-such-folder, the folder that TMPDIR names: there is no/,
    ),
  ]);
});

test('edit keeps a text that the server or the parser refuses, and takes it from stdin', async () => {
  const refused = await gantry(['edit', 'own'], editor('s/^config:/config:\\n  limits.memroy: "1"/'));
  expect(refused.code).toBe(1);
  const file = /gantry edit container\/own < (\S+)/.exec(refused.stderr)?.[1] ?? '';
  const mended = readFileSync(file, 'utf8').replace('limits.memroy: "1"', 'user.c: "1"');
  rmSync(dirname(file), { recursive: true });
  expect(await gantry(['edit', 'own'], { piped: mended })).toMatchObject({ code: 0 });
  expect(await configOf('own')).toMatchObject({ 'user.c': '1' });
  const wrong = await gantry(['edit', 'own'], { piped: 'config: [' });
  expect([wrong.code, wrong.stderr]).toEqual([1, expect.stringMatching(/is not YAML \(.* at line 1, column \d+\)/)]);
  expect((await gantry(['edit', 'own'], { piped: '' })).stderr).toContain('holds no fields');
});

test('edit refuses a misspelt field and a config that is no mapping, and takes what show prints', async () => {
  const before = await daemon.get('/1.0/containers/own');
  const text = (await gantry(['show', 'container/own'])).stdout;
  const misspelt = await gantry(['edit', 'own'], { piped: text.replace(/^config:/m, 'confg:') });
  expect([misspelt.code, misspelt.stderr]).toEqual([
    1,
    'Error: container/own stays as it is: it has no field confg (did you mean config?)\n',
  ]);
  expect((await gantry(['edit', 'own'], { piped: 'profiles: [small]\nconfig: true\n' })).code).toBe(1);
  expect(await daemon.get('/1.0/containers/own')).toEqual(before);
  expect(await gantry(['edit', 'own'], { piped: text })).toMatchObject({ code: 0 });
});

test('edit ends with 3 and keeps the text when the object changed while the editor was open', async () => {
  const path = join(daemon.dir, 'slow-editor.sh');
  const patch = `curl -sS --unix-socket ${daemon.socketPath} -X PATCH -d '{"config":{"user.now":"1"}}' http://g/1.0/containers/own`;
  writeFileSync(path, `sed -i 's/^description:.*/description: mine/' "$1"\n${patch} -o /dev/null\n`);
  const ran = await gantry(['edit', 'own'], { typed: '', env: { EDITOR: `sh ${path}` } });
  expect([ran.code, ran.stderr]).toEqual([3, expect.stringContaining('was changed meanwhile: nothing was written')]);
  const file = /gantry edit container\/own < (\S+) replaces/.exec(ran.stderr)?.[1] ?? '';
  expect(readFileSync(file, 'utf8')).toContain('description: mine');
  rmSync(dirname(file), { recursive: true });
  expect(await daemon.get('/1.0/containers/own')).toMatchObject({ description: '', config: { 'user.now': '1' } });
});

test('edit takes numbers and booleans in config and devices as they are written', async () => {
  const text = `ephemeral: true
profiles: [small]
config: { limits.cpu: 2, boot.autostart: true, user.version: 1.10 }
devices: { data: { type: disk, source: /tmp, path: /data, readonly: true } }
`;
  await daemon.ok('POST', '/1.0/containers', { name: 'typed', profiles: ['small'], source: { type: 'none' } });
  expect(await gantry(['edit', 'typed'], { piped: text })).toMatchObject({ code: 0, stderr: '' });
  expect(await daemon.get('/1.0/containers/typed')).toMatchObject({
    ephemeral: true,
    config: { 'limits.cpu': '2', 'boot.autostart': 'true', 'user.version': '1.10' },
    devices: { data: { readonly: 'true' } },
  });
});

test('edit keeps no text that nobody changed, or that is empty', async () => {
  const failed = await gantry(['edit', 'own'], { typed: '', env: { EDITOR: 'false' } });
  expect([failed.code, failed.stderr]).toEqual([1, 'Error: The editor false ended with 1: nothing was sent\n']);
  const emptied = await gantry(['edit', 'own'], { typed: '', env: { EDITOR: 'cp /dev/null' } });
  expect([emptied.code, emptied.stderr]).toEqual([1, expect.not.stringContaining('is kept')]);
});

test('top prints running containers once when stdout is no terminal', async () => {
  const { code, stdout } = await gantry(['top', '--interval', '100ms']);
  expect([code, stdout.split('\n').map((line) => line.split(' ')[0])]).toEqual([0, ['NAME', 'web', '']]);
  const json = await gantry(['top', 'web', '--json', '--interval', '100ms']);
  expect(JSON.parse(json.stdout)).toMatchObject({ kind: 'container', name: 'web' });
  expect((await gantry(['top', 'nothing'])).code).toBe(1);
});

test('top counts between two readings of one start, and lists the busiest first', () => {
  const state = (pid: number, usage: number) =>
    ({ pid, cpu: { usage }, memory: { usage: 5 }, processes: 1, network: null }) as never;
  const reading = (atMs: number, states: Record<string, never>) => ({ atMs, states: new Map(Object.entries(states)) });
  const uses = usesBetween(
    reading(0, { a: state(1, 0), b: state(2, 0), c: state(3, 9e9) }),
    reading(2000, { a: state(1, 1e9), b: state(2, 2e9), c: state(4, 1e9) }),
  );
  expect(uses.map(({ name, cpu }) => [name, cpu])).toEqual([
    ['b', 100],
    ['a', 50],
  ]);
});

test('top on a terminal repeats its table, and ends at Ctrl-C without an error', async () => {
  let interrupt = (): void => {};
  let tables = 0;
  const ran = await gantry(['top', '--interval', '100ms'], {
    stdoutTty: true,
    interrupts: (give) => (interrupt = give),
    onStdout: (text) => {
      if (text.includes('NAME') && ++tables === 2) interrupt();
    },
  });
  expect([ran.code, ran.stderr, tables]).toEqual([130, '', 2]);
});

test('top shows the busiest that fit the terminal, no line longer than it, and the number of the others', () => {
  const uses = Array.from({ length: 30 }, (_, index) => ({
    name: `c${index}`,
    cpu: 30 - index,
    memory: 1,
    processes: 1,
    received: 1,
    sent: 1,
  }));
  const lines = (count: number, rows: number, columns: number): string[] =>
    renderUses(uses.slice(0, count), paintFor(false), { columns, rows }).split('\n');
  expect(lines(30, 23, 80)).toHaveLength(23);
  expect(lines(30, 23, 80).at(-1)).toBe('... and 9 more');
  expect(lines(22, 23, 80)).toHaveLength(23);
  expect(lines(22, 23, 80).at(-1)).toMatch(/^c21 /);
  expect(Math.max(...lines(3, 1, 20).map(({ length }) => length))).toBeLessThanOrEqual(20);
  expect(lines(30, Infinity, Infinity)).toHaveLength(31);
});

test('an empty argument is refused with exit code 64 before anything happens, and a command may have one', async () => {
  for (const words of [
    ['info', ''],
    ['delete', 'own', ''],
    ['launch', 'image', ''],
    ['set', '', 'user.a=1'],
    ['exec', '', 'true'],
  ]) {
    const ran = await gantry(words);
    expect([words, ran.code, ran.stderr]).toEqual([words, 64, expect.stringContaining('is empty')]);
  }
  expect((await gantry(['exec', 'nothing', 'echo', ''])).stderr).toContain('container/nothing does not exist');
  expect(await configOf('own')).toBeDefined();
});

test('wait names a container that does not exist as other verbs do', async () => {
  const ran = await gantry(['wait', 'nothing', '--for', 'tcp=80']);
  expect([ran.code, ran.stderr]).toEqual([1, expect.stringContaining('container/nothing does not exist: gantry list')]);
});
