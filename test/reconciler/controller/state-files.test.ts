// The files of the controller's state after the end of a process, and with several changes at once.
import { appendFile, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import {
  changesOn,
  changesOf,
  weightOfChanges,
  type HostChanges,
} from '../../../reconciler/controller/sets/object-history.ts';
import { pathsText } from '../../../reconciler/controller/decide/suspended-drift.ts';
import { RecordLog } from '../../../reconciler/controller/sets/state-file.ts';
import { StoredSet } from '../../../reconciler/controller/sets/stored-set.ts';
import { Suspensions } from '../../../reconciler/controller/sets/suspensions.ts';
import { tempFolder } from '../../support/temp-folder.ts';

let folder: string;
beforeEach(async () => void (folder = tempFolder('gantry-state-')));

test('a record after one that was cut off is not lost', async () => {
  const file = join(folder, 'log');
  const first = new RecordLog<{ readonly id: string }>(file, 10);
  first.put({ id: 'a' });
  await first.flush();
  await appendFile(file, '{"id":"b","te');
  const second = new RecordLog<{ readonly id: string }>(file, 10);
  await second.load();
  second.put({ id: 'c' });
  second.put({ id: 'd' });
  await second.flush();
  const third = new RecordLog<{ readonly id: string }>(file, 10);
  await third.load();
  expect(third.list(10).map(({ id }) => id)).toEqual(['d', 'c', 'a']);
  expect((await readFile(file, 'utf8')).endsWith('{"id":"d"}\n')).toBe(true);
});

test('a record that was removed stays away for the next process', async () => {
  const file = join(folder, 'log');
  const first = new RecordLog<{ readonly id: string }>(file, 3);
  for (const id of ['a', 'b', 'c']) first.put({ id });
  first.remove('b');
  await first.flush();
  const second = new RecordLog<{ readonly id: string }>(file, 3);
  await second.load();
  expect(second.list(10).map(({ id }) => id)).toEqual(['c', 'a']);
  second.put({ id: 'd' });
  expect(second.list(10).map(({ id }) => id)).toEqual(['d', 'c', 'a']);
});

test('suspensions that come at the same time are all kept, and another process finds them', async () => {
  const file = join(folder, 'suspensions.json');
  const own = new Suspensions(file);
  const names = ['a', 'b', 'c', 'd'];
  const made = await Promise.all(names.map((reason) => own.add('web', { reason }, 'ann', 0)));
  await Promise.all([own.end('web', made[1]?.id), own.add('web', { reason: 'e' }, 'ann', 0)]);
  const other = new Suspensions(file);
  await other.load();
  for (const one of [own, other]) expect(one.of('web', 0).map(({ reason }) => reason)).toEqual(['a', 'c', 'd', 'e']);
});

test('a failed revision goes back to the newest good one; what older states say of no revision is taken as good', async () => {
  const set = new StoredSet(folder, 'web');
  await set.load();
  const at = '2026-01-01T00:00:00Z';
  for (const revision of ['one', 'two', 'three', 'four']) {
    await set.advance({ revision, at });
    if (revision === 'two') expect(set.lastGood?.revision).toBe('one');
    if (revision === 'two') await set.noteGood('two');
  }
  expect(set.lastGood?.revision).toBe('two');
  await set.withdraw('four', set.lastGood ?? { revision: '', at });
  expect(set.state).toMatchObject({ current: { revision: 'two' }, earlier: [{ revision: 'one' }], withdrawn: 'four' });
  const other = new StoredSet(folder, 'web');
  expect([await other.load(), await other.load()]).toEqual([true, false]);
  expect(other.wanted).toBe('two');
});

test('as many earlier revisions are kept as the set asks for, and no rollback goes to others', async () => {
  const set = new StoredSet(folder, 'web', 2);
  await set.load();
  for (const revision of ['one', 'two', 'three', 'four']) await set.advance({ revision, at: '2026-01-01T00:00:00Z' });
  expect(set.known).toEqual(['four', 'three', 'two']);
  expect(() => set.named('one')).toThrow('the set web has no revision one: it has four, three, two');
});

test('a run of thousands of objects is kept for each object, and the oldest changes go when there are too many', async () => {
  const names = Array.from({ length: 3304 }, (_, at) => `container/c${at}`);
  const changes = names.map((address) => ({ address, action: 'create', steps: [address] }));
  const record = (run: string): HostChanges => {
    const made = changesOn('h1', run, { changes } as never, { done: names, failures: [] } as never, 0);
    if (made === undefined) throw new Error('the run changed nothing');
    return made;
  };
  const open = (): RecordLog<HostChanges> => new RecordLog(join(folder, 'changes'), 10_000, weightOfChanges);
  const log = open();
  for (const run of ['a', 'b', 'c', 'd']) log.put(record(run));
  await log.flush();
  const again = open();
  await again.load();
  for (const one of [log, again]) {
    expect(one.list(10).map(({ run }) => run)).toEqual(['d', 'c', 'b']);
    expect(changesOf(one.list(10), () => undefined, 'h1', 'container/c3303')).toHaveLength(3);
  }
});

test('drift of an object as a whole is named in words', () => {
  expect([pathsText(['']), pathsText([]), pathsText(['a', ''])]).toEqual([
    'the object as a whole',
    'the object as a whole',
    'a, the object as a whole',
  ]);
});
