// Backup and restore of a controller's state: while it runs, after a loss, after kill -9, and refusals.
import { execFileSync, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { open } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout } from 'node:timers/promises';
import { gunzipSync, gzipSync } from 'node:zlib';
import { beforeEach, expect, test } from 'vitest';
import { buildSync } from 'esbuild';
import { backupState } from '../../../reconciler/controller/backup/backup-state.ts';
import { restoreState } from '../../../reconciler/controller/backup/restore-state.ts';
import { StoredSet } from '../../../reconciler/controller/sets/stored-set.ts';
import { tempFolder } from '../../support/temp-folder.ts';
import { until } from '../../support/until.ts';

const at = '2030-01-31T12:00:00Z';
let folder = '';
beforeEach(() => void (folder = tempFolder('gantry-backup-')));

const put = (path: string, text: string): void => {
  mkdirSync(join(folder, 'state', path, '..'), { recursive: true });
  writeFileSync(join(folder, 'state', `${path}.new`), text);
  renameSync(join(folder, 'state', `${path}.new`), join(folder, 'state', path));
};
const state = () => join(folder, 'state');
const file = () => join(folder, 'backup');
const other = () => join(folder, 'other');

test('a backup of a changing directory is consistent', async () => {
  const names = ['asked.json', 'sets/web/state.json'];
  const write = (count: number): void => names.forEach((name) => put(name, JSON.stringify({ count, earlier: [] })));
  for (let round = 0; round < 10; round += 1) {
    let count = 0;
    write(count);
    // The writer stops by itself, since a slow machine may need all of this time for one copy.
    const timer = setInterval(() => (count < 20 ? write((count += 1)) : clearInterval(timer)), 2);
    await backupState(state(), 'main', file(), at);
    clearInterval(timer);
    await restoreState(file(), other(), 'main');
    const texts = names.map((name) => JSON.parse(readFileSync(join(other(), name), 'utf8')) as { count: number });
    expect(texts[0]?.count).toBe(texts[1]?.count);
    rmSync(other(), { recursive: true });
  }
});

test('a backup omits checkouts, journals and an incomplete last line', async () => {
  put('audit.jsonl', '{"at":"x"}\n{"at"');
  put('sources/site/mirror/x', 'x');
  put('hosts/h1/journal.json', '{}');
  await backupState(state(), 'main', file(), at);
  expect(await restoreState(file(), other(), 'main')).toEqual({ at, files: 1, held: [] });
  expect(readdirSync(other())).toEqual(['audit.jsonl']);
  expect(readFileSync(join(other(), 'audit.jsonl'), 'utf8')).toBe('{"at":"x"}\n');
});

test('a restore refuses unsuitable backups, and leaves nothing behind', async () => {
  put('asked.json', '{}');
  await backupState(state(), 'main', file(), at);
  const refused = (path = file(), name = 'main', to = other()) => expect(restoreState(path, to, name)).rejects;
  await refused(file(), 'main', state()).toThrow('is not empty: stop the controller, move the directory away');
  await refused(file(), 'second').toThrow('it is of the controller main, and gantry.yaml is that of second');
  const text = gunzipSync(readFileSync(file())).toString();
  const variants: readonly (readonly [string, string])[] = [
    [text.replace('"version":1', '"version":2'), 'which is newer'],
    [text.replace('gantry-controller-state', 'something'), 'it is no backup of a controller'],
    [text.replace('"asked.json"', '"../asked.json"'), 'it has a file "../asked.json"'],
    [text.replace(/"data":"[^"]*"/, '"data":"AAAA"'), 'asked.json in it is damaged'],
    [text.slice(0, text.lastIndexOf('{')), 'its end is missing'],
  ];
  for (const [changed, why] of variants) {
    writeFileSync(join(folder, 'bad'), gzipSync(changed));
    await refused(join(folder, 'bad')).toThrow(why);
  }
  writeFileSync(join(folder, 'bad'), readFileSync(file()).subarray(0, 100));
  await refused(join(folder, 'bad')).toThrow('cannot be restored');
  await refused(join(folder, 'none')).toThrow('ENOENT');
  expect(readdirSync(folder).sort()).toEqual(['backup', 'bad', 'state']);
});

/** A process that calls one of the functions; `begun` and `ended` are awaited from the start, since both may come at once. */
function child(name: 'backupState' | 'restoreState', ...args: readonly string[]) {
  const program = join(folder, `${name}.mjs`);
  const module = name === 'backupState' ? 'backup-state' : 'restore-state';
  const contents = `import { ${name} } from './reconciler/controller/backup/${module}.ts';
    console.log('begins'); await ${name}(...process.argv.slice(2));`;
  const stdin = { contents, resolveDir: process.cwd(), loader: 'ts' } as const;
  buildSync({ stdin, bundle: true, platform: 'node', format: 'esm', target: 'node20', outfile: program });
  const started = spawn(process.execPath, [program, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  return { begun: once(started.stdout, 'data'), ended: once(started, 'close'), kill: () => started.kill('SIGKILL') };
}

const count = 60;
const putSets = (): void => {
  for (let set = 0; set < count; set += 1) {
    const text = randomBytes(10_000).toString('hex');
    put(`sets/s${set}/state.json`, JSON.stringify({ earlier: [], text }));
  }
};

test('a restore that is killed in the middle creates nothing, and the next one restores everything', async () => {
  putSets();
  await backupState(state(), 'main', file(), at);
  // Half of the backup comes through a pipe, and then no more.
  const pipe = join(folder, 'pipe');
  execFileSync('mkfifo', [pipe]);
  const { begun, ended, kill } = child('restoreState', pipe, other(), 'main');
  await begun;
  const bytes = readFileSync(file());
  const feed = await open(pipe, 'w');
  await feed.write(bytes.subarray(0, bytes.length / 2));
  const partial = () => readdirSync(folder).find((name) => name.startsWith('other.restore-')) ?? 'none';
  const sets = () => (existsSync(join(folder, partial(), 'sets')) ? readdirSync(join(folder, partial(), 'sets')) : []);
  await until(() => sets().length > 10);
  kill();
  await ended;
  await feed.close();
  expect(existsSync(other())).toBe(false);
  expect((await restoreState(file(), other(), 'main')).files).toBe(count);
  expect(readdirSync(folder).filter((name) => name.startsWith('other'))).toEqual(['other']);
});

test('a restore that is killed at any moment creates all of the state or none', async () => {
  putSets();
  await backupState(state(), 'main', file(), at);
  for (let round = 0; round < 3; round += 1) {
    const { begun, ended, kill } = child('restoreState', file(), other(), 'main');
    await begun;
    await setTimeout(round * 30);
    kill();
    await ended;
    if (existsSync(other())) expect(readdirSync(join(other(), 'sets'))).toHaveLength(count);
    rmSync(other(), { recursive: true, force: true });
  }
});

test('a backup that is killed at any moment leaves the previous file or all of the new one', async () => {
  putSets();
  await backupState(state(), 'main', file(), at);
  for (let round = 0; round < 4; round += 1) {
    const before = readFileSync(file());
    putSets();
    const { begun, ended, kill } = child('backupState', state(), 'main', file(), at);
    await begun;
    await setTimeout(round * 20);
    kill();
    await ended;
    if (readFileSync(file()).equals(before)) continue;
    expect((await restoreState(file(), other(), 'main')).files).toBe(count);
    rmSync(other(), { recursive: true });
  }
  expect(await backupState(state(), 'main', file(), at)).toBe(count);
});

test('a restored set begins with the revision of its source, and can roll back to the newest of the backup', async () => {
  const current = { revision: 'b', at, isGood: true };
  const pin = { revision: 'a', reason: 'x', by: 'ann', since: at };
  put(
    'sets/web/state.json',
    JSON.stringify({ current, earlier: [{ revision: 'a', at }], hosts: {}, given: { h1: 'b' } }),
  );
  put('sets/db/state.json', JSON.stringify({ current, earlier: [], hosts: {}, given: {}, pin }));
  await backupState(state(), 'main', file(), at);
  expect(await restoreState(file(), other(), 'main')).toEqual({ at, files: 2, held: ['db'] });
  const stored = new StoredSet(other(), 'web');
  await stored.load();
  expect([stored.wanted, stored.known, stored.lastGood]).toEqual([undefined, ['b', 'a'], current]);
  expect(stored.revisionOf('h1').revision).toBe('b');
});
