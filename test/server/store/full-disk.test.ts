// SQLite store on a file system that fills up: writes are refused as NoSpace, nothing is half applied, it recovers by itself.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openSqliteStore } from '../../../server/store/sqlite/sqlite.ts';
import { put, tempDir, text } from '../../support/store/watching.ts';

const dir = tempDir();
const mountPoint = join(dir.path, 'small');
let skipReason: string | undefined;

function mountSmall(): string | undefined {
  if (process.platform !== 'linux' || process.getuid?.() !== 0)
    return 'mounting a small file system needs root on Linux';
  mkdirSync(mountPoint);
  const mounted = spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=8m,mode=0700', 'tmpfs', mountPoint], {
    encoding: 'utf8',
  });
  return mounted.status === 0 ? undefined : `cannot mount a small file system: ${mounted.stderr}`;
}

beforeAll(() => {
  skipReason = mountSmall();
  if (skipReason !== undefined) console.log(`full-disk test skipped: ${skipReason}`);
});

afterAll(() => {
  if (existsSync(mountPoint)) spawnSync('umount', ['-l', mountPoint]);
  dir.remove();
});

test('a full disk refuses writes, keeps acknowledged ones, and freed space makes it work again', async (context) => {
  if (skipReason !== undefined) {
    context.skip(skipReason);
    return;
  }
  const filler = join(mountPoint, 'filler');
  const path = join(mountPoint, 'store.db');
  writeFileSync(filler, Buffer.alloc(4 * 1024 * 1024));
  const store = await openSqliteStore({ path });
  const acked: number[] = [];
  const fill = async (): Promise<void> => {
    for (let n = 0; n < 5_000; n++) {
      await store.txn([], [put(`/a/${n}`, `${n} ${'x'.repeat(2_000)}`), put('/last', String(n))]);
      acked.push(n);
    }
  };
  const refusal: unknown = await fill().catch((error: unknown) => error);
  expect(refusal).toMatchObject({ code: 'NoSpace', message: `no space left for ${path}` });
  expect(acked.length).toBeGreaterThan(50);

  const { rev } = await store.status();
  expect(rev).toBe(acked.length);
  expect(text((await store.get('/last'))?.value)).toBe(String(acked.at(-1)));
  expect((await store.range('/a/')).records).toHaveLength(acked.length);
  await expect(store.txn([], [put('/big', 'y'.repeat(200_000))])).rejects.toMatchObject({ code: 'NoSpace' });
  expect((await store.status()).rev).toBe(rev);

  rmSync(filler);
  expect(await store.txn([], [put('/big', 'y'.repeat(200_000))])).toEqual({ ok: true, rev: rev + 1 });
  await store.close();

  const again = await openSqliteStore({ path });
  expect((await again.range('/a/')).records.map(({ key }) => Number(key.slice(3))).sort((a, b) => a - b)).toEqual(
    acked,
  );
  expect((await again.status()).rev).toBe(rev + 1);
  await again.close();
});

test.each([
  ['is in the file', true],
  ['is in the log only', false],
])('a full disk accepts deletions as long as there are records: what was written %s', async (_where, isClosed) => {
  if (skipReason !== undefined) return;
  for (const name of readdirSync(mountPoint)) rmSync(join(mountPoint, name));
  const filler = join(mountPoint, 'filler');
  const path = join(mountPoint, 'deletions.db');
  let store = await openSqliteStore({ path });
  // SQLite by itself would leave them in the log: it moves a thousand pages at once.
  for (let n = 0; n < 45; n++) await store.txn([], [put(`/a/${n}`, 'x'.repeat(20_000))]);
  if (isClosed) {
    await store.close();
    store = await openSqliteStore({ path });
  }
  try {
    spawnSync('sh', ['-c', `cat /dev/zero > ${filler} 2>/dev/null; truncate -s -262144 ${filler}`]);
    // Each leaves more than thirty kilobytes in the log.
    for (let n = 0; n < 45; n++) await store.txn([], [{ del: `/a/${n}` }]);
    expect((await store.range('/a/')).records).toEqual([]);
  } finally {
    rmSync(filler, { force: true });
    await store.close();
  }
});

test('a commit counts, also when nobody can tell how much room the disk has', async () => {
  const gone = join(dir.path, 'gone');
  mkdirSync(gone);
  const store = await openSqliteStore({ path: join(gone, 'store.db') });
  rmSync(gone, { recursive: true });
  const value = 'x'.repeat(8_000);
  expect(await store.txn([], [put('/a', value)])).toEqual({ ok: true, rev: 1 });
  expect(await store.txn([], [put('/b', value)])).toEqual({ ok: true, rev: 2 });
  expect((await store.range('/')).records).toHaveLength(2);
  await store.close();
});
