// Copies of records in a pool: every change arrives there, also when one object changes others with it.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readdirSync, statSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { Records } from '../../../../server/records/records.ts';
import { poolLock } from '../../../../server/services/storage/pools.ts';
import { KnownPools } from '../../../../server/services/recovery/known-pools.ts';
import { RecordCopies, type RecordCopiesDeps } from '../../../../server/services/recovery/record-copies.ts';
import { KeyedMutex } from '../../../../server/lib/keyed-mutex.ts';
import { openMemoryStore } from '../../../../server/store/memory/memory.ts';
import { tempFolder } from '../../../support/temp-folder.ts';
import { until } from '../../../support/until.ts';

const directory = tempFolder('gtya-record-copies-');

async function openCopies(folder = 'records', longestTurnMs = 10_000) {
  const records = await Records.open(openMemoryStore());
  await records.commit((changes) =>
    changes.put('pools', 'p', { v: 1, description: '', driver: 'dir', config: {}, lifecycle: 'ready' }),
  );
  const logged: string[] = [];
  const log = { error: (text: string) => logged.push(text), warn: (text: string) => logged.push(text) };
  const driver = { recordsPath: () => join(directory, folder), hasVolume: () => Promise.resolve(false) };
  mkdirSync(join(directory, folder), { recursive: true });
  const copies = new RecordCopies({
    records,
    locks: new KeyedMutex(),
    log,
    pools: { use: () => ({ driver, pool: {} }) },
    knownPools: new KnownPools({ path: join(directory, 'pools.json'), records, log: log as never }),
    longestTurnMs,
  } as unknown as RecordCopiesDeps);
  copies.begin();
  await copies.flush();
  return { records, copies, logged };
}

test('The snapshot of a volume that arrives is copied once, and its pool stays usable', async () => {
  const { records, copies, logged } = await openCopies();
  const common = { v: 1, description: '', config: {}, createdAt: '2026-01-01T00:00:00Z' } as const;
  const numbers = ['0', '1', '2', '3', '4'];
  for (const number of numbers) {
    await records.commit((changes) => {
      changes.put('volumes', `p/v${number}`, { ...common, uuid: number, lifecycle: 'creating' });
      changes.put('volumeSnapshots', `${number}/s`, { ...common, lifecycle: 'ready' });
    });
    await copies.flush();
  }
  expect(logged).toEqual([]);
  const files = readdirSync(join(directory, 'records', 'volumeSnapshots'));
  expect(files.toSorted()).toEqual(numbers.map((number) => `${number}%2Fs.json`));
  await copies.close();
});

test('A pool that does not answer stops no other, is named, and has all copies once it answers', async () => {
  const records = await Records.open(openMemoryStore());
  const pool = { v: 1, description: '', driver: 'dir', config: {}, lifecycle: 'ready' } as const;
  await records.commit((changes) => {
    changes.put('pools', 'a-dead', pool);
    changes.put('pools', 'b-good', pool);
  });
  const places = { 'a-dead': join(directory, 'dead'), 'b-good': join(directory, 'good') };
  for (const place of Object.values(places)) mkdirSync(place);
  const logged: string[] = [];
  const log = { error: (text: string) => logged.push(text), warn: (text: string) => logged.push(text) };
  // A busy lock looks to the copies as a file system that does not answer: the work of the pool does not end.
  const locks = new KeyedMutex();
  let answer = (): void => {};
  const answered = new Promise<void>((resolve) => (answer = resolve));
  void locks.run(poolLock('a-dead'), () => answered);
  const copies = new RecordCopies({
    records,
    locks,
    log,
    pools: {
      use: (name: keyof typeof places) => ({
        driver: { recordsPath: () => places[name], hasVolume: () => Promise.resolve(false) },
        pool: {},
      }),
    },
    knownPools: new KnownPools({ path: join(directory, 'two-pools.json'), records, log: log as never }),
    longestTurnMs: 500,
  } as unknown as RecordCopiesDeps);
  const { signal } = new AbortController();
  const copiesIn = (place: string): readonly string[] => readdirSync(join(place, 'profiles')).toSorted();
  copies.begin();
  await copies.flush();
  await records.commit((changes) => changes.put('profiles', 'web', { v: 1, description: '', config: {}, devices: {} }));
  await copies.flush();
  expect(copiesIn(places['b-good'])).toEqual(['web.json']);
  await copies.task().run(new Date(), signal);
  expect(logged).toEqual([expect.stringContaining('The storage pool a-dead does not answer')]);
  answer();
  await locks.run(poolLock('a-dead'), () => Promise.resolve());
  await copies.task().run(new Date(), signal);
  expect(copiesIn(places['a-dead'])).toEqual(['web.json']);
  await copies.close();
});

test('A slow pool is not called dead while it makes progress', async () => {
  const names = ['a', 'b', 'c'];
  const { records, copies, logged } = await openCopies('slow', 500);
  await copies.close();
  // A copy that is a pipe keeps its reader waiting, as a slow disk does.
  const paths = names.map((name) => join(directory, 'slow', 'profiles', `${name}.json`));
  mkdirSync(join(directory, 'slow', 'profiles'));
  execFileSync('mkfifo', paths);
  const answer = async (path = ''): Promise<void> => {
    await writeFile(path, 'old');
    await until(() => statSync(path).isFile());
  };
  await records.commit((changes) =>
    names.forEach((name) => changes.put('profiles', name, { v: 1, description: '', config: {}, devices: {} })),
  );
  copies.begin();
  await copies.flush();
  const look = (): Promise<void> => copies.task().run(new Date(), new AbortController().signal);
  await answer(paths[0]);
  await look();
  expect(logged).toEqual([]);
  await look();
  expect(logged).toEqual([expect.stringContaining('The storage pool p does not answer')]);
  for (const path of paths.slice(1)) await answer(path);
  await copies.close();
});
