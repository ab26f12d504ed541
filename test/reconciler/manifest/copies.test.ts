// Copies on a whole daemon through the command line: volumes with their own snapshots, and containers and images whose undeclared parts
// are removed in exact mode.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { fileDaemon } from '../../support/daemons/file-daemon.ts';
import { packImage } from '../../support/cli/daemon-with-manifests.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const daemon = await fileDaemon({ runtime: 'sim' });
beforeAll(() => daemon.call('POST', '/1.0/storage-pools', { name: 'pre', driver: 'dir' }));

let folder = '';
beforeEach(() => void (folder = tempFolder('gantry-copies-')));

const run = (...argv: readonly string[]): Promise<CliRun> =>
  cli([...argv, '--host', `unix://${daemon.socketPath}`, '-f', join(folder, 'all.yaml')]);
const say = (text: string): void => writeFileSync(join(folder, 'all.yaml'), text);

/** Applies, and expects an empty second plan. */
async function applied(): Promise<string> {
  const done = await run('apply', '-y');
  expect(done, done.stdout + done.stderr).toMatchObject({ code: 0 });
  const again = await run('plan', '-detailed-exitcode');
  expect(again, again.stdout + again.stderr).toMatchObject({ code: 0 });
  return done.stdout;
}

const volumes = (description: string): string => `
kind: storage_volume
pool: pre
name: copy
config: { user.of: copy }
source: { type: copy, name: first, volume_only: true }
---
kind: storage_volume
pool: pre
name: first
snapshots:
  - { name: s1, description: ${description} }
  - { name: s2 }
`;

test('volumes are copied when their source exists, and their snapshots are taken once and keep their description up to date', async () => {
  say(volumes('old'));
  const shown = await applied();
  expect(shown).toContain('snapshots["s1"]');
  const path = '/1.0/storage-pools/pre/volumes/custom';
  expect(await daemon.get(`${path}/copy`)).toMatchObject({ config: { 'user.of': 'copy' } });
  expect(await daemon.get(`${path}/copy/snapshots`)).toEqual([]);
  expect(await daemon.get(`${path}/first/snapshots/s1`)).toMatchObject({ description: 'old' });
  say(volumes('new'));
  expect(await applied()).toContain('"old" -> "new"');
  expect(await daemon.get(`${path}/first/snapshots/s1`)).toMatchObject({ description: 'new' });
  expect(await daemon.get(`${path}/first/snapshots`)).toHaveLength(2);
  expect(await run('destroy', '-y')).toMatchObject({ code: 0 });
});

test('a volume with an invalid or missing source is refused before the first step', async () => {
  say('kind: storage_volume\npool: pre\nname: a\nsource: { type: migration, name: b }\n');
  expect((await run('plan')).stderr).toContain('source.type must be copy');
  say('kind: storage_volume\npool: pre\nname: a\nsource: { type: copy, name: b }\n');
  expect((await run('plan')).stderr).toContain('pre/b');
});

test('a copy in exact mode keeps only the values that it declares', async () => {
  say(`
kind: container
name: first
profiles: []
source: { type: none }
state: stopped
config: { user.a: '1', limits.memory: 64MiB }
devices: { d: { type: none }, root: { type: disk, path: /, pool: pre } }
---
kind: container
name: exact
profiles: []
source: { type: copy, source: first }
state: stopped
config: { user.b: '2' }
devices: { root: { type: disk, path: /, pool: pre } }
manage: { mode: exact }
---
kind: container
name: plain
profiles: []
source: { type: copy, source: first }
state: stopped
`);
  await applied();
  const configOf = async (name: string): Promise<Record<string, string>> => {
    const { config } = (await daemon.get(`/1.0/containers/${name}`)) as { config: Record<string, string> };
    return Object.fromEntries(
      Object.entries(config).filter(([key]) => !/^(?:volatile|image|user\.gantry)\./.test(key)),
    );
  };
  expect(await configOf('exact')).toEqual({ 'user.b': '2' });
  expect(await daemon.get('/1.0/containers/exact')).toMatchObject({
    devices: { root: { type: 'disk', path: '/', pool: 'pre' } },
  });
  expect(await configOf('plain')).toEqual({ 'user.a': '1', 'limits.memory': '64MiB' });
  expect(await run('destroy', '-y')).toMatchObject({ code: 0 });
});

test('a snapshot that another document takes is copied into a container and into a volume', async () => {
  say(`
kind: container
name: copy
profiles: []
source: { type: copy, source: first/s1 }
state: stopped
---
kind: container
name: first
profiles: []
source: { type: none }
state: stopped
config: { user.a: '1' }
devices: { root: { type: disk, path: /, pool: pre } }
snapshots: [{ name: s1 }]
---
kind: storage_volume
pool: pre
name: copy
source: { type: copy, name: first/s1 }
---
kind: storage_volume
pool: pre
name: first
snapshots: [{ name: s1 }]
`);
  await applied();
  expect(await daemon.get('/1.0/containers/copy')).toMatchObject({ config: { 'user.a': '1' } });
  expect(await run('destroy', '-y')).toMatchObject({ code: 0 });
});

test('an image in exact mode has only the declared properties', async () => {
  packImage(folder, 'image.tar.gz', 'gcopies');
  const image = (properties: string): string =>
    `kind: image\nname: i\nfile: image.tar.gz\nproperties: ${properties}\nmanage: { mode: exact }\n`;
  const seen = async (): Promise<readonly object[]> =>
    ((await daemon.get('/1.0/images?recursion=1')) as readonly { properties: object }[]).map((each) => each.properties);
  say(image('{ os: mine, a: "1" }'));
  await applied();
  expect(await seen()).toEqual([{ os: 'mine', a: '1' }]);
  say(image('{ os: mine }'));
  await applied();
  expect(await seen()).toEqual([{ os: 'mine' }]);
  expect(await run('destroy', '-y')).toMatchObject({ code: 0 });
});
