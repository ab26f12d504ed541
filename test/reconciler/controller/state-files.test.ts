// The state files of the controller after killed processes and concurrent changes.
import { readlinkSync } from 'node:fs';
import { appendFile, mkdir, open, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { beforeEach, expect, onTestFinished, test, vi } from 'vitest';
import {
  changesOn,
  changesOf,
  weightOfChanges,
  type HostChanges,
} from '../../../reconciler/controller/sets/object-history.ts';
import { pathsText } from '../../../reconciler/controller/decide/suspended-drift.ts';
import { RecordLog } from '../../../reconciler/controller/sets/state-file.ts';
import { StoredSet } from '../../../reconciler/controller/sets/stored-set.ts';
import { GeneratedSets } from '../../../reconciler/controller/generators/generated-sets.ts';
import { Asked } from '../../../reconciler/controller/sets/asked.ts';
import type { AskedNote } from '../../../reconciler/controller/hosts/asked-notes.ts';
import { tempFolder } from '../../support/temp-folder.ts';

let folder: string;
beforeEach(async () => void (folder = tempFolder('gantry-state-')));

test('a record after a truncated one is not lost', async () => {
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

test('records that could not be written are written with the next one', async () => {
  const file = join(folder, 'log');
  const first = new RecordLog<{ readonly id: string }>(file, 10);
  await mkdir(file);
  first.put({ id: 'a' });
  first.put({ id: 'b' });
  await first.flush();
  await rmdir(file);
  first.put({ id: 'c' });
  await first.flush();
  const second = new RecordLog<{ readonly id: string }>(file, 10);
  await second.load();
  expect(second.list(10).map(({ id }) => id)).toEqual(['c', 'b', 'a']);
});

test('a log that cannot be read is an error, not an empty history', async () => {
  const file = join(folder, 'log');
  await mkdir(file);
  await expect(new RecordLog(file, 10).load()).rejects.toThrow('EISDIR');
});

test.each(['null', '[]', '1', ''])('a state file with %j is damaged and stays as it is', async (text) => {
  for (const name of ['sets/web/state.json', 'generators.json', 'asked.json']) {
    const file = join(folder, name);
    await mkdir(dirname(file), { recursive: true });
    await writeFile(file, text);
    const loading = {
      'sets/web/state.json': () => new StoredSet(folder, 'web').load(),
      'generators.json': () => new GeneratedSets(folder).load(),
      'asked.json': () => new Asked(file, { read: async () => undefined, write: async () => {} }).load(),
    }[name];
    await expect(loading?.()).rejects.toThrow(`${file} is damaged: restore it, or delete it`);
    expect(await readFile(file, 'utf8')).toBe(text);
  }
});

test('an approval that could not be stored does not count', async () => {
  const stored = new StoredSet(folder, 'web');
  await stored.change({ unchecked: 'r1' });
  await rm(join(folder, 'sets/web/state.json'));
  await mkdir(join(folder, 'sets/web/state.json'));
  const pruneApproval = { revision: 'r1', by: 'ann', reason: 'old', at: '' };
  await expect(stored.change({ pruneApproval, unchecked: 'r2' })).rejects.toThrow('it is a folder');
  expect([stored.state.pruneApproval, stored.state.unchecked]).toEqual([undefined, 'r1']);
});

test('the state is on the disk, with its name, when it is stored', async () => {
  const handle = await open(folder, 'r');
  const prototype = Object.getPrototypeOf(handle) as { sync: (this: { readonly fd: number }) => Promise<void> };
  await handle.close();
  const { sync } = prototype;
  const synced: string[] = [];
  onTestFinished(() => void vi.restoreAllMocks());
  vi.spyOn(prototype, 'sync').mockImplementation(function (this: { readonly fd: number }) {
    synced.push(readlinkSync(`/proc/self/fd/${this.fd}`));
    return sync.call(this);
  });
  await new StoredSet(folder, 'web').change({ unchecked: 'r1' });
  expect(synced.at(-1)).toBe(join(folder, 'sets/web'));
});

test('what a generator found is news until it is stored', async () => {
  const generated = new GeneratedSets(folder);
  await mkdir(join(folder, 'generators.json'));
  const entries = [{ number: '1' }];
  await expect(generated.take('requests', {}, entries)).rejects.toThrow('it is a folder');
  await rmdir(join(folder, 'generators.json'));
  expect(await generated.take('requests', {}, entries)).toBe(true);
  expect(await generated.take('requests', {}, entries)).toBe(false);
});

test('a removed record stays removed for the next process', async () => {
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

/** The lock hosts, reduced to notes. `isDown`: they neither read nor write notes. */
const hostsWith = (note?: AskedNote) => {
  const hosts = {
    note,
    isDown: false,
    read: async () => hosts.note,
    write: async (next: AskedNote) => {
      if (hosts.isDown) throw new Error('the hosts are down');
      hosts.note = next;
    },
  };
  return hosts;
};
const reasons = (asked: Asked): readonly string[] => asked.of('web', 0).map(({ reason }) => reason);

test('concurrent suspensions are all stored, and another process finds them', async () => {
  const file = join(folder, 'suspensions.json');
  const own = new Asked(file, hostsWith());
  const names = ['a', 'b', 'c', 'd'];
  const made = await Promise.all(names.map((reason) => own.add('web', { reason }, 'ann', 0)));
  await Promise.all([own.end('web', made[1]?.id), own.add('web', { reason: 'e' }, 'ann', 0)]);
  const other = new Asked(file, hostsWith());
  await other.load();
  for (const one of [own, other]) expect(one.of('web', 0).map(({ reason }) => reason)).toEqual(['a', 'c', 'd', 'e']);
});

test('a suspension outlives the state directory, and an older state directory does not undo its end', async () => {
  const hosts = hostsWith();
  const own = new Asked(join(folder, 'a.json'), hosts);
  await own.recall();
  const made = await own.add('web', { reason: 'a' }, 'ann', 0);
  await own.add('web', { reason: 'b' }, 'ann', 0);
  const old = await readFile(join(folder, 'a.json'), 'utf8');
  await own.end('web', made.id);
  const lost = new Asked(join(folder, 'lost.json'), hosts);
  await lost.load();
  await lost.recall();
  await writeFile(join(folder, 'old.json'), old);
  const restored = new Asked(join(folder, 'old.json'), hosts);
  await restored.load();
  expect(reasons(restored)).toEqual(['a', 'b']);
  await restored.recall();
  expect([lost, restored].map(reasons)).toEqual([['b'], ['b']]);
});

test('a suspension from before the notes of the hosts were read is added to them', async () => {
  const hosts = hostsWith();
  const other = new Asked(join(folder, 'other.json'), hosts);
  await other.recall();
  await other.add('web', { reason: 'there' }, 'ann', 0);
  const own = new Asked(join(folder, 'own.json'), hosts);
  await own.load();
  await own.add('web', { reason: 'here' }, 'ann', 0);
  // A controller re-reads its state when it takes over.
  await own.load();
  await own.recall();
  expect(reasons(own)).toEqual(['there', 'here']);
  expect(hosts.note?.suspensions.map(({ reason }) => reason)).toEqual(['there', 'here']);
});

test('a suspension that the hosts cannot store now is stored there later', async () => {
  const hosts = hostsWith();
  const own = new Asked(join(folder, 'own.json'), hosts);
  await own.recall();
  hosts.isDown = true;
  await own.add('web', { reason: 'a' }, 'ann', 0);
  expect(reasons(own)).toEqual(['a']);
  expect(hosts.note).toBeUndefined();
  hosts.isDown = false;
  await own.noteAgain();
  expect(hosts.note?.suspensions).toHaveLength(1);
});

test('suspensions of versions without notes on hosts are kept', async () => {
  const old = { id: 'x', set: 'web', reason: 'old', by: 'ann', since: '2030-01-31T12:00:00Z' };
  await writeFile(join(folder, 'suspensions.json'), JSON.stringify([old]));
  const own = new Asked(join(folder, 'asked.json'), hostsWith(), join(folder, 'suspensions.json'));
  await own.load();
  await own.recall();
  expect(own.of('web', 0)).toEqual([old]);
});

test('a forged approval in the state directory is ignored', async () => {
  const file = join(folder, 'asked.json');
  const forged = {
    id: 'x',
    set: 'web',
    revision: 'c0ffee',
    steps: ['d'],
    by: 'eve',
    reason: 'x',
    at: '',
    until: '9999',
  };
  await writeFile(file, JSON.stringify({ n: 99, suspensions: [], approvals: [forged] }));
  const own = new Asked(file, hostsWith({ n: 3, suspensions: [], approvals: [] }));
  await own.load();
  await own.recall();
  expect(own.approvalsOf('web', 0)).toEqual([]);
});

test('an approval does not count until the hosts have stored it', async () => {
  const hosts = hostsWith();
  const own = new Asked(join(folder, 'asked.json'), hosts);
  await own.recall();
  hosts.isDown = true;
  const until = '2030-01-31T12:00:00Z';
  const approval = {
    id: 'x',
    set: 'web',
    revision: 'c0ffee',
    steps: ['2:d'],
    by: 'ann',
    reason: 'x',
    at: until,
    until,
  };
  await expect(own.approve(approval, 0, () => undefined)).rejects.toThrow('the hosts are down');
  expect(own.approvalsOf('web', 0)).toEqual([]);
  hosts.isDown = false;
  await own.approve(approval, 0, () => undefined);
  const lost = new Asked(join(folder, 'lost.json'), hosts);
  await lost.recall();
  expect(lost.approvalsOf('web', 0)).toEqual([approval]);
  expect(lost.approvalsOf('web', Date.parse(until))).toEqual([]);
});

test('an approval that only some hosts could store is taken back from them, and a later change is newer than it', async () => {
  const hosts = hostsWith();
  const own = new Asked(join(folder, 'asked.json'), hosts);
  await own.recall();
  const until = '2030-01-31T12:00:00Z';
  const one = { id: 'x', set: 'web', revision: 'c0ffee', steps: ['2:d'], by: 'ann', reason: 'x', at: until, until };
  const { write } = hosts;
  hosts.write = async (next) => {
    await write(next);
    throw new Error('most hosts are down');
  };
  await expect(own.approve(one, 0, () => undefined)).rejects.toThrow('most hosts are down');
  const partial = hosts.note;
  hosts.write = write;
  await own.noteAgain();
  expect(hosts.note).toMatchObject({ approvals: [] });
  expect(hosts.note?.n).toBeGreaterThan(partial?.n ?? 0);
  const other = new Asked(join(folder, 'other.json'), hosts);
  await other.recall();
  expect([own, other].flatMap((each) => each.approvalsOf('web', 0))).toEqual([]);
});

test('an approval of an older version ends, and its digests leave the hosts', async () => {
  const until = '2030-01-31T12:00:00Z';
  const one = { id: 'x', set: 'web', revision: 'c0ffee', steps: ['2:d'], by: 'ann', reason: 'x', at: until, until };
  const older = { ...one, id: 'y', steps: ['d'] };
  const hosts = hostsWith({ n: 3, suspensions: [], approvals: [older, one] });
  const own = new Asked(join(folder, 'asked.json'), hosts);
  await own.load();
  expect(await own.recall()).toEqual([older]);
  expect([own.approvalsOf('web', 0), hosts.note]).toEqual([[one], { n: 4, suspensions: [], approvals: [one] }]);
  expect(await own.recall()).toEqual([]);
  expect(hosts.note?.n).toBe(4);
});

test('a failed revision rolls back to the newest good one; revisions of older states count as good', async () => {
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

test('only the configured number of earlier revisions is kept for rollbacks', async () => {
  const set = new StoredSet(folder, 'web', { max: 2 });
  await set.load();
  for (const revision of ['one', 'two', 'three', 'four']) await set.advance({ revision, at: '2026-01-01T00:00:00Z' });
  expect(set.known).toEqual(['four', 'three', 'two']);
  expect(() => set.named('one')).toThrow('the set web has no revision one: it has four, three, two');
});

test('a run of thousands of objects is stored per object, and the oldest changes are dropped beyond the limit', async () => {
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

test('drift of an object as a whole has a readable text', () => {
  expect([pathsText(['']), pathsText([]), pathsText(['a', ''])]).toEqual([
    'the object as a whole',
    'the object as a whole',
    'a, the object as a whole',
  ]);
});
