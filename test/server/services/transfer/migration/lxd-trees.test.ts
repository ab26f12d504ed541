// Trees as a real LXD sends them by rsync, received into volumes that have file systems of their own.
import { existsSync } from 'node:fs';
import { mkdir, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { sending, sendTree, type RsyncLink } from '../../../../../server/drivers/storage/rsync.ts';
import { receiveFromLxd, type Streams } from '../../../../../server/services/transfer/migration/lxd/trees.ts';
import { openBlocksFixture } from '../../../../support/drivers/storage-blocks.ts';
import { busyboxMissing } from '../../../../support/images/busybox-rootfs.ts';
import { tempFolder } from '../../../../support/temp-folder.ts';

const why =
  busyboxMissing() ??
  (process.getuid?.() === 0 ? undefined : 'root is needed to mount') ??
  (existsSync('/dev/loop-control') ? undefined : 'there are no loop devices');
if (why !== undefined) console.log(`skipped: trees of LXD on block devices: ${why}`);

const never = new AbortController().signal;
const mebi = 1_048_576;

/** One direction of a session, with an end mark. */
function pipe() {
  const { readable, writable } = new TransformStream<Buffer, Buffer>();
  const bytes = readable as AsyncIterable<Buffer>;
  return {
    send: async (source: AsyncIterable<Buffer>): Promise<void> => {
      const writer = writable.getWriter();
      for await (const piece of source) await writer.write(piece);
      await writer.close();
    },
    incoming: { bytes, drain: async () => {} },
  };
}

/** The streams of a receiver that gets these trees, one after the other. */
function streamsOf(trees: readonly string[]): { readonly streams: Streams; readonly sent: () => Promise<unknown> } {
  const left = [...trees];
  const sent: Promise<void>[] = [];
  let back: RsyncLink['send'] = () => Promise.reject(new Error('no session is open'));
  return {
    sent: () => Promise.all(sent),
    streams: {
      sendStream: (source) => back(source),
      receiveStream: () => {
        const [there, here] = [pipe(), pipe()];
        back = here.send;
        const link = { send: there.send, incoming: here.incoming };
        sent.push(sendTree(sending(left.shift() ?? '', ['xattrs', 'delete']), link, never));
        sent.at(-1)?.catch(() => {});
        return there.incoming;
      },
    },
  };
}

describe.skipIf(why !== undefined)('trees of LXD on block devices', () => {
  let fixture: Awaited<ReturnType<typeof openBlocksFixture>>;
  beforeAll(async () => {
    fixture = await openBlocksFixture({ 'volume.size': '48MiB' });
  });
  afterAll(() => fixture.close());

  test('a snapshot which is larger than its volume is now arrives in the size that it had', async () => {
    const pool = fixture.newPool();
    const { storage } = fixture;
    await storage.createPool(pool, never);
    const source = tempFolder('lxd-trees-');
    const bytesOf = { small: 4 * mebi, large: 60 * mebi, now: 8 * mebi };
    const names = ['small', 'large', 'now'] as const;
    for (const name of names) {
      await mkdir(join(source, name));
      await writeFile(join(source, name, 'file'), Buffer.alloc(bytesOf[name], name));
    }
    const { streams, sent } = streamsOf(names.map((name) => join(source, name)));
    const ref = { type: 'custom', name: 'v', shape: { bytes: 48 * mebi } } as const;
    const ofSnapshot = (name?: string) =>
      name === 'large' ? { ...ref, shape: { ...ref.shape, minBytes: 96 * mebi } } : ref;
    const progress = { begin: () => {}, add: () => undefined, end: () => {} };
    const trees = { driver: storage, pool, ref, ofSnapshot, snapshots: ['small', 'large'], isTwice: false };
    await receiveFromLxd(streams, { ...trees, features: ['xattrs', 'delete'] }, progress, never);
    await sent();

    const sizeIn = async (path: string): Promise<number | undefined> =>
      storage.withFiles?.(path, async () => (await stat(join(path, 'file'))).size);
    for (const name of ['small', 'large'] as const)
      expect(await sizeIn(storage.snapshotPath(pool, { volume: ref, snapshot: name }))).toBe(bytesOf[name]);
    expect(await sizeIn(storage.volumePath(pool, ref))).toBe(bytesOf.now);
    expect(await fixture.store.find(pool, 'custom/v')).toMatchObject({ bytes: 48 * mebi });
  });
});
