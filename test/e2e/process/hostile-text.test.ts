// Text from servers, images, manifests and guests that tries to control the terminal: every verb shows it without control characters.
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, parseAllDocuments } from 'yaml';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { buildProgram } from '../../../reconciler/cli/program/program.ts';
import { cli, type CliRun, type CliSetting } from '../../support/cli/io.ts';
import { makeDaemon, type TestDaemon } from '../../support/daemons/daemon.ts';
import { packImage } from '../../support/cli/daemon-with-manifests.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const csi = '\u009b';
/** Colours, a clipboard write (OSC 52), a window title, C1, overrides and isolates of direction, a carriage return, a marker of this test. */
const evil =
  'A\u001b[31mB\u001b]52;c;ZXZpbA==\u0007C\u001b]0;t\u001b\\D' +
  `${csi}5mE\u202eF\u2066G\u200fH\rI\u0008J\u007fK\uFDD0[1AL\uFDD0[31mM`;
// oxlint-disable-next-line no-control-regex -- the test looks for control characters
const steering = /[\u0000-\u0008\u000B-\u001F\u007F-\u009F\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/;

let daemon: TestDaemon;
const dir = tempFolder('ght-');
let fingerprint: string;
let stack: string;
beforeAll(async () => {
  daemon = await makeDaemon();
  stack = join(dir, 'stack.yaml');
  mkdirSync(join(dir, 'pulled'));
  packImage(dir, 'image.tar.gz', 'one');
  const made = await daemon.ok('POST', '/1.0/images', readFileSync(join(dir, 'image.tar.gz')));
  fingerprint = made.metadata?.['fingerprint'] as string;
  const properties = { description: evil, os: evil };
  await daemon.call('PUT', `/1.0/images/${fingerprint}`, { properties, public: false, auto_update: false });
  await daemon.call('POST', '/1.0/images/aliases', { name: 'base', target: fingerprint, description: evil });
  const described = { description: evil, config: {} };
  await daemon.call('POST', '/1.0/storage-pools', { name: 'p1', driver: 'dir', ...described });
  await daemon.call('POST', '/1.0/networks', { name: 'evil0', ...described });
  await daemon.call('POST', '/1.0/storage-pools/p1/volumes/custom', { name: 'v1', ...described });
  const devices = { root: { type: 'disk', path: '/', pool: 'p1' } };
  await daemon.call('POST', '/1.0/profiles', {
    name: 'hostile',
    description: evil,
    config: { 'user.x': evil },
    devices,
  });
  await daemon.ok('POST', '/1.0/containers', {
    name: 'c1',
    description: evil,
    profiles: ['hostile'],
    config: { 'user.x': evil },
    source: { type: 'image', alias: 'base' },
  });
  await daemon.ok('PUT', '/1.0/containers/c1/state', { action: 'start' });
  await daemon.ok('POST', '/1.0/containers/c1/snapshots', { name: 's1' });
  await daemon.ok('POST', '/1.0/containers/c1/backups', { name: 'b1' });
  const headers = { 'x-lxd-type': 'file', 'content-type': 'application/octet-stream' };
  for (const path of ['/etc/plain', `/etc/evil/${evil}`]) {
    await daemon.call('POST', `/1.0/containers/c1/files?path=${encodeURIComponent(path)}`, Buffer.from(evil), headers);
  }
  writeFileSync(stack, manifest('declared'));
  writeFileSync(join(dir, 'broken.yaml'), `kind: profile\nname: x\n${JSON.stringify(evil)}: ${JSON.stringify(evil)}\n`);
  writeFileSync(join(dir, 'preseed.yaml'), `profiles:\n- name: seeded\n  description: ${JSON.stringify(evil)}\n`);
});
afterAll(() => daemon?.cleanUp());

const manifest = (text: string): string =>
  ['hostile', 'other']
    .map((name) => JSON.stringify({ kind: 'profile', name, description: `${evil}${text}`, config: { 'user.y': evil } }))
    .join('\n---\n');

const gantry = (words: readonly string[], setting: CliSetting = {}): Promise<CliRun> =>
  cli(words, { ...setting, env: { GANTRY_SOCKET: daemon.socketPath, ...setting.env } });

/** The verbs in the order of the test, each with its arguments. */
const shown: readonly (readonly [string, ...string[]])[] = [
  ['plan', '-f', 'STACK'],
  ['plan', '-f', 'STACK', '-o', 'json'],
  ['plan', '-f', 'STACK', '-o', 'yaml'],
  ['plan', '-f', 'STACK', '-o', 'markdown'],
  ['plan', '-f', 'STACK', '-o', 'junit'],
  ['plan', '-f', 'STACK', '--json'],
  ['plan', '-f', 'STACK', '--dry-run=server'],
  ['diff', '-f', 'STACK'],
  ['adopt', '-f', 'STACK'],
  ['apply', '-f', 'STACK', '-y', '-m', evil],
  ['apply', '-f', 'STACK', '-y', '--json'],
  ['status', '-f', 'STACK'],
  ['history'],
  ['history', 'show', '1'],
  ['drift', '-f', 'STACK'],
  ['drift', '-f', 'STACK', '-o', 'markdown'],
  ['rollback', '1', '-y'],
  ['lock', '--reason', evil],
  ['apply', '-f', 'STACK', '-y'],
  ['force-unlock'],
  ['force-unlock', evil],
  ...['profile', 'network', 'storage_pool', 'storage_volume', 'image', 'image_alias'].map(
    (kind) => ['get', kind] as const,
  ),
  ...['table', 'yaml', 'json', 'name'].map((format) => ['get', 'container', '-o', format] as const),
  ['get', 'profile', evil],
  ['get', evil],
  ['show'],
  ['show', 'container/c1'],
  ['show', 'profile/hostile', '--json'],
  ['list'],
  ['list', '-o', 'json'],
  ['list', evil],
  ['info', 'c1'],
  ['info', evil],
  ['set', 'c1', `user.x=${evil}`],
  ['set', evil, 'user.x=y'],
  ['edit', evil],
  ['top', '--once', 'c1'],
  ['top', evil],
  ['port-forward', 'c1', evil],
  ['port-forward', evil, ':80'],
  ['docs', evil],
  ['docs', '--search', evil],
  ['import', 'compose', 'BROKEN'],
  ['import', 'compose', evil],
  ['migrate-from-lxd', '--dry-run', '--lxd', `unix://${evil}`],
  ['pause', 'c1'],
  ['start', 'c1'],
  ['restart', '--force', 'c1'],
  ['stop', evil],
  ['start', evil],
  ['delete', evil],
  ['delete', `profile/${evil}`],
  ['delete', 'profile/hostile', '--no-input'],
  ['logs', 'c1'],
  ['logs', 'c1', '--log', evil],
  ['logs', evil],
  ['shell', evil],
  ['launch', 'base', evil],
  ['launch', evil, 'c9'],
  ['remote', 'list'],
  ['remote', 'remove', evil],
  ['wait', 'c1', '--for', `exec=${evil}`, '--timeout', '2s'],
  ['wait', evil],
  ['graph', '-f', 'STACK'],
  ['graph', '-f', 'STACK', '-o', 'dot'],
  ['doctor'],
  ['doctor', '--host', `unix://${evil}`],
  ['export'],
  ['export', '--redact'],
  ['validate', 'BROKEN'],
  ['validate', evil],
  ['fmt', '--check', 'BROKEN'],
  ['explain', evil],
  ['init', `DIR/${evil}`],
  ['completion', evil],
  ['completion', 'environments', 'DIR'],
  ['schema'],
  ['version'],
  ['update', '-f', 'STACK'],
  ['preseed', 'PRESEED'],
  ['release', 'profile/seeded', '--set', evil],
  ['release', `profile/${evil}`],
  ['copy', 'c1', evil],
  ['copy', 'c1', 'c2'],
  ['move', 'c2', evil],
  ['file', 'pull', '-r', 'c1/etc/evil', 'DIR/pulled'],
  ['file', 'push', `DIR/${evil}`, 'c1/etc/'],
  ['file', 'delete', `c1/${evil}`],
  ['snapshot', 'list', 'c1'],
  ['snapshot', 'show', 'c1/s1'],
  ['snapshot', 'restore', `c1/${evil}`],
  ['backup', 'list', 'c1'],
  ['backup', 'export', 'c1', evil],
  ['image', 'list'],
  ['image', 'delete', evil],
  ['image', 'alias', evil, evil],
  ['run', '-f', 'BROKEN', '-y', '--timeout', '2s'],
  ['exec', evil, '--', 'true'],
  ['console', evil],
  ['events', '--type', 'logging', '--timeout', '2s'],
  ['trust', 'list'],
  ['trust', 'show', evil],
  ['trust', 'add', evil],
  ['trust', 'remove', evil],
  ['trust', 'join', evil],
  ['login', evil],
  ['cluster', 'list'],
  ['cluster', 'show', evil],
  ['cluster', 'add', evil],
  ['ui', 'BROKEN'],
  ['context', evil],
  ['controller', '--config', 'BROKEN'],
  ['controller', 'status', '--url', evil],
  ['controller', 'backup', evil, '--config', 'BROKEN'],
  ['controller', 'restore', evil, '--config', 'BROKEN'],
  ['logout', evil],
  ['destroy', '-f', 'STACK', '-y'],
  [evil],
  ['plan', `--${evil}`],
];

const wordsOf = (words: readonly string[]): readonly string[] =>
  words.map((word) =>
    word
      .replace('STACK', stack)
      .replace('BROKEN', join(dir, 'broken.yaml'))
      .replace('PRESEED', join(dir, 'preseed.yaml'))
      .replace('DIR', dir),
  );

describe('hostile text', () => {
  test('The list of verbs covers every verb', () => {
    const verbs = buildProgram(() => Promise.resolve()).commands.map((command) => command.name());
    const tried = new Set(shown.map(([verb]) => verb));
    expect(verbs.filter((verb) => !tried.has(verb))).toEqual([]);
  });

  test('Hostile text never reaches a terminal as control characters, for any verb and format, with or without colours', async () => {
    let escapes = 0;
    for (const [index, words] of shown.entries()) {
      const logging = setInterval(() => daemon.publish(evil), 200);
      // One function colours the output of all verbs.
      const env = index % 2 === 0 ? {} : { FORCE_COLOR: '1' };
      const { stdout, stderr } = await gantry(wordsOf(words), { env });
      const text = `${stdout}${stderr}`;
      const what = `${JSON.stringify(words)} ${JSON.stringify(env)}`;
      // The colours of gantry have at most two digits, and none of them precedes a letter of the marker.
      // oxlint-disable-next-line no-control-regex -- the test looks for control characters
      const bare = 'FORCE_COLOR' in env ? text.replaceAll(/\u001b\[\d{1,2}m(?!B)/g, '') : text;
      const at = bare.search(steering);
      expect(at === -1 ? '' : bare.slice(Math.max(0, at - 60), at + 20), what).toBe('');
      expect(text, what).not.toMatch(/\n {4}at \S/);
      if (text.includes(String.raw`\u001b`)) escapes += 1;
      clearInterval(logging);
    }
    // The hostile text was part of the output.
    expect(escapes).toBeGreaterThan(60);
  });

  test('JSON and YAML keep hostile text, and files and command output stay raw', async () => {
    const live = (await daemon.get('/1.0/containers/c1')) as { description: string };
    expect(live.description).toBe(evil);
    expect(JSON.parse((await gantry(['get', 'container', 'c1', '-o', 'json'])).stdout)).toMatchObject({
      description: evil,
    });
    expect(parse((await gantry(['get', 'container', 'c1', '-o', 'yaml'])).stdout)).toMatchObject({ description: evil });
    const exported = parseAllDocuments((await gantry(['export'])).stdout).map(
      (each) => each.toJS() as { name?: string },
    );
    expect(exported.find(({ name }) => name === 'hostile')).toMatchObject({ config: { 'user.x': evil } });
    expect((await gantry(['file', 'pull', 'c1/etc/plain', '-'])).stdout).toBe(evil);
    const said = await gantry(['exec', 'c1', '--', 'cat', '/etc/plain']);
    expect(said.stdout).toBe(evil);
  });

  test('Hostile text in a cell of a table stays in its row', async () => {
    await daemon.call('PATCH', `/1.0/images/${fingerprint}`, { properties: { description: 'one\ntwo\tthree' } });
    const { stdout } = await gantry(['image', 'list']);
    expect(stdout.trimEnd().split('\n')).toHaveLength(2);
    expect(stdout).toContain(String.raw`one\ntwo three`);
  });
});
