// SQLite store on damaged and foreign files: the error names the record, and damaged data is never returned.
import { chmodSync, readFileSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openSqliteStore } from '../../../server/store/sqlite/sqlite.ts';
import type { Store } from '../../../server/store/store.ts';
import { bytes, gather, put, tempDir, text, textSink } from '../../support/store/watching.ts';

let dir: ReturnType<typeof tempDir>;

beforeEach(() => {
  dir = tempDir();
});

afterEach(() => dir.remove());

async function withStore<T>(use: (store: Store) => Promise<T>): Promise<T> {
  const store = await openSqliteStore({ path: dir.file });
  try {
    return await use(store);
  } finally {
    await store.close();
  }
}

/** Changes one byte in every copy of `pattern` that the file holds; history keeps a second copy of a value. */
function flip(pattern: string): number {
  const file = readFileSync(dir.file);
  let count = 0;
  for (let at = file.indexOf(pattern); at !== -1; at = file.indexOf(pattern, at + 1)) {
    file[at + 3] = (file[at + 3] ?? 0) ^ 0x01;
    count += 1;
  }
  writeFileSync(dir.file, file);
  return count;
}

test('a flipped byte in a value is Corrupt, naming the key, wherever it is read', async () => {
  await withStore(async (store) => {
    for (let i = 0; i < 50; i++) await store.txn([], [put(`/c/${i}`, `value-of-${i}-${'x'.repeat(2_000)}`)]);
  });
  expect(flip('value-of-17-')).toBe(2);
  await withStore(async (store) => {
    const corrupt = { code: 'Corrupt', message: expect.stringContaining('/c/17 ') };
    await expect(store.get('/c/17')).rejects.toMatchObject(corrupt);
    await expect(store.range('/c/')).rejects.toMatchObject(corrupt);
    await expect(store.snapshot(textSink().sink)).rejects.toMatchObject(corrupt);
    await expect(gather(store, '', 0).ended).rejects.toMatchObject(corrupt);
    expect(text((await store.get('/c/16'))?.value)).toMatch(/^value-of-16-/);
    expect((await store.range('/c/2')).records).toHaveLength(11);

    await store.txn([], [put('/c/17', 'written again')]);
    expect((await store.range('/c/')).records).toHaveLength(50);
    await store.txn([], [{ del: '/c/17' }]);
    expect(await store.get('/c/17')).toBeUndefined();
  });
});

test('no reader gets any of many flipped bytes', async () => {
  const good = new Map<string, string>();
  await withStore(async (store) => {
    for (let i = 0; i < 300; i++) {
      good.set(`/c/${i}`, `${i}:`.repeat(300));
      await store.txn([], [put(`/c/${i}`, good.get(`/c/${i}`))]);
    }
  });
  const file = readFileSync(dir.file);
  // Beyond the first pages, which hold the schema; a fixed stride hits values, keys, numbers and checksums.
  for (let at = 40_000; at < file.length; at += 9_973) file[at] = (file[at] ?? 0) ^ 0x10;
  writeFileSync(dir.file, file);
  const opened = await openSqliteStore({ path: dir.file }).catch((error: unknown) => error);
  if (opened instanceof Error) {
    expect(opened).toMatchObject({ code: 'Corrupt' });
    return;
  }
  const store = opened as Store;
  let corrupt = 0;
  for (const [key, value] of good) {
    try {
      expect(text((await store.get(key))?.value) ?? value).toBe(value);
    } catch (error) {
      expect(error).toMatchObject({ code: 'Corrupt' });
      corrupt += 1;
    }
  }
  expect(corrupt).toBeGreaterThan(0);
  await store.close();
});

test('a file that is not a database, a truncated one and one of a later schema are refused', async () => {
  writeFileSync(dir.file, 'this is a letter to my grandmother, '.repeat(500));
  await expect(openSqliteStore({ path: dir.file })).rejects.toMatchObject({ code: 'Corrupt' });

  dir.remove();
  dir = tempDir();
  await withStore(async (store) => {
    for (let i = 0; i < 50; i++) await store.txn([], [put(`/c/${i}`, 'x'.repeat(2_000))]);
  });
  truncateSync(dir.file, 8_192);
  await expect(withStore((store) => store.range(''))).rejects.toMatchObject({ code: 'Corrupt' });
});

test('the file and its companions are readable by the owner only', async () => {
  await withStore(async (store) => {
    await store.txn([], [{ put: '/a', value: bytes('secret') }]);
    expect(statSync(dir.file).mode & 0o777).toBe(0o600);
    expect(statSync(`${dir.file}-wal`).mode & 0o777).toBe(0o600);
  });
  chmodSync(dir.file, 0o644);
  await withStore(async () => expect(statSync(dir.file).mode & 0o777).toBe(0o600));
});

test('history is compacted automatically and its space is used again', async () => {
  const history = { minRevisions: 20, maxRevisions: 50, maxAgeMs: 60_000 };
  const store = await openSqliteStore({ path: dir.file, history });
  const write = async (count: number): Promise<void> => {
    for (let i = 0; i < count; i++) await store.txn([], [put('/a', 'x'.repeat(4_000))]);
  };
  await write(400);
  const early = await store.status();
  expect(early).toMatchObject({ rev: 400, compactRev: 351 });
  await write(400);
  const late = await store.status();
  expect(late).toMatchObject({ rev: 800, compactRev: 751 });
  // 50 revisions kept and a write-ahead log of at most some megabytes; 800 revisions would be more.
  expect(statSync(dir.file).size).toBeLessThan(1_500_000);
  const seen = gather(store, '', 751);
  await expect(gather(store, '', 750).ended).rejects.toMatchObject({ code: 'Compacted', compactRev: 751 });
  await store.txn([], [put('/b')]);
  await expect.poll(() => seen.batches.length).toBe(51);
  await seen.stop();
  await store.close();
});

test('revisions above the maximum age are removed down to the number that always stays', async () => {
  const store = await openSqliteStore({
    path: dir.file,
    history: { minRevisions: 5, maxRevisions: 1_000, maxAgeMs: 0 },
  });
  for (let i = 0; i < 30; i++) await store.txn([], [put('/a', String(i))]);
  expect((await store.status()).compactRev).toBe(26);
  await store.close();
});
