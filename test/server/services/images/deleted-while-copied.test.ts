// A copy of an image from another member of a cluster counts only while a member has the image: no kill brings a deleted one back.
import { existsSync } from 'node:fs';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { systemClock } from '../../../../server/lib/clock.ts';
import { KeyedMutex } from '../../../../server/lib/keyed-mutex.ts';
import { silentLog } from '../../../../server/lib/log.ts';
import { Sagas } from '../../../../server/operations/saga.ts';
import { Records } from '../../../../server/records/records.ts';
import { MemberImages } from '../../../../server/services/images/member-images.ts';
import { ImageStore } from '../../../../server/services/images/image-store.ts';
import { ImageUsers } from '../../../../server/services/images/image-users.ts';
import { addImageSaga } from '../../../../server/services/images/sagas/image-add.ts';
import { openMemoryStore } from '../../../../server/store/memory/memory.ts';
import type { Store } from '../../../../server/store/store.ts';
import { until } from '../../../support/until.ts';
import { tempFolder } from '../../../support/temp-folder.ts';
import { imageRecord, memberRecord } from '../../../support/fakes/records.ts';

const fingerprint = 'a'.repeat(64);
const document = imageRecord();

let dir: string;
let store: Store;
let one: Records;
let two: Records;
let stop: AbortController;

beforeEach(async () => {
  dir = tempFolder('gantry-copied-image-');
  store = openMemoryStore();
  [one, two] = [await Records.open(store, 1), await Records.open(store, 2)];
  stop = new AbortController();
  for (const records of [one, two]) void records.follow(stop.signal, () => {});
  await one.commit((changes) => {
    changes.put('members', 'm1', memberRecord(1));
    changes.put('images', fingerprint, document);
  });
  await until(() => two.others.having('images', fingerprint).length === 1);
});
afterEach(async () => {
  stop.abort();
  await store.close();
});

/** Member 2 copies the image from member 1; `meanwhile` happens once the files are there, before they count. */
async function copy(meanwhile: () => Promise<void>): Promise<void> {
  const saga = addImageSaga({ records: two, dir });
  const [files] = saga.steps;
  if (files === undefined) throw new Error('the saga has no step');
  const execute: typeof files.execute = async (...given) => {
    await files.execute(...given);
    await meanwhile();
  };
  const sagas = new Sagas({ records: two, clock: systemClock(), log: silentLog, table: { 'image-add': saga } });
  const metadataPath = join(dir, 'upload');
  await writeFile(metadataPath, 'files');
  const params = { fingerprint, document, metadataPath, rootfsPath: null, aliases: [], copyOf: 1 };
  await sagas.run({ ...saga, steps: [{ ...files, execute }] }, params);
}

const stored = async (): Promise<readonly string[]> =>
  (await store.range('/', {})).records.map(({ key }) => key).filter((key) => /images|sagas/.test(key));

test('one that stays at the other member is here, too, also when it is changed there meanwhile', async () => {
  await copy(() => one.commit((changes) => changes.put('images', fingerprint, { ...document, public: true })));
  expect(await stored()).toEqual([`/member/1/images/${fingerprint}`, `/member/2/images/${fingerprint}`]);
  expect(existsSync(join(dir, fingerprint))).toBe(true);
});

test('one that is deleted there meanwhile has no record here at any time after, and no files', async () => {
  const copied = copy(() => one.commit((changes) => changes.delete('images', fingerprint)));
  await expect(copied).rejects.toMatchObject({ code: 'notFound' });
  expect(await stored()).toEqual([]);
  expect(await readdir(dir)).toEqual([]);
});

test('the copy stays when it is all that a removed member left', async () => {
  await copy(() =>
    one.commit((changes) => {
      changes.delete('images', fingerprint);
      changes.delete('members', 'm1');
    }),
  );
  expect(await stored()).toEqual([`/member/2/images/${fingerprint}`]);
});

/** A container is made of the image at member 2; `fetch`: what the request for its files does. Resolves to why it failed. */
async function useAtTwo(fetch: () => Promise<unknown>): Promise<unknown> {
  const member = { number: 1, name: 'm1', isPresent: true };
  const cluster = { members: { byNumber: () => member }, links: { request: fetch }, ownName: 'm2' };
  const deps = { records: two, dir, cluster, locks: new KeyedMutex(), pools: { forgetImage: async () => {} } };
  const members = new MemberImages(deps as never);
  const images = new ImageStore({ ...deps, members, users: new ImageUsers() } as never);
  const work = vi.fn<() => Promise<void>>(async () => {});
  const failed = await images.using(fingerprint, 'default', stop.signal, work).catch((error: unknown) => error);
  expect(work).not.toHaveBeenCalled();
  return failed;
}

async function deleteAtOne(): Promise<void> {
  await one.commit((changes) => changes.delete('images', fingerprint));
  await until(() => two.others.having('images', fingerprint).length === 0);
}

test('a container creation finds no image if it is deleted at the other member while its files are on their way', async () => {
  const failed = await useAtTwo(async () => {
    await deleteAtOne();
    return { status: 404, headers: {}, body: Readable.from([]) };
  });
  expect(failed).toMatchObject({ code: 'notFound', message: expect.stringContaining(fingerprint) });
  expect(await stored()).toEqual([]);
});

test('a container creation finds no image if it is deleted before its use begins', async () => {
  vi.spyOn(MemberImages.prototype, 'fetch').mockImplementationOnce(deleteAtOne);
  expect(await useAtTwo(async () => {})).toMatchObject({ code: 'notFound' });
});

test('a container creation says which members cannot be asked for an image that still exists', async () => {
  const failed = await useAtTwo(() => Promise.reject(new Error('the line is cut')));
  expect(failed).toMatchObject({ code: 'unavailable', message: expect.stringContaining('m1: the line is cut') });
});
