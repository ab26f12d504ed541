// The choice of members that fetch copies of an image, and copies that missed a change.
import { expect, test } from 'vitest';
import type { ImageDocument } from '../../../server/records/documents.ts';
import { encodeDocument } from '../../../server/records/codec.ts';
import { Records } from '../../../server/records/records.ts';
import { MemberImages, type MemberImagesDeps } from '../../../server/services/images/member-images.ts';
import { openMemoryStore } from '../../../server/store/memory/memory.ts';
import { newHolders } from '../../../server/membership/image-replicas.ts';
import { imageRecord } from '../../support/fakes/records.ts';

const wish = { image: 'a'.repeat(64), wanted: 3, candidates: [1, 2, 3, 4, 5], holders: [2] };

test('as many as are missing, never a holder, and the same whoever decides', () => {
  const chosen = newHolders(wish);
  expect(chosen).toHaveLength(2);
  expect(chosen).not.toContain(2);
  expect(newHolders({ ...wish, candidates: [5, 4, 3, 2, 1] })).toEqual(chosen);
  expect(newHolders({ ...wish, holders: [2, ...chosen] })).toEqual([]);
});

test('all, or one, or as many as there are', () => {
  expect(new Set(newHolders({ ...wish, wanted: -1 }))).toEqual(new Set([1, 3, 4, 5]));
  expect(newHolders({ ...wish, wanted: 1 })).toEqual([]);
  expect(newHolders({ ...wish, wanted: 9 })).toHaveLength(4);
});

test('a holder that is away is replaced, and the copies of many images are spread', () => {
  expect(newHolders({ ...wish, wanted: 1, candidates: [1, 3] })).toHaveLength(1);
  const counts = new Map<number, number>();
  for (let index = 0; index < 200; index += 1)
    for (const each of newHolders({ ...wish, image: `image ${index}`, wanted: 2 }))
      counts.set(each, (counts.get(each) ?? 0) + 1);
  for (const member of [1, 3, 4, 5]) expect(counts.get(member)).toBeGreaterThan(20);
});

test('a copy that missed a change follows the member with the lowest number, and keeps what is its own', async () => {
  const document = (os: string, lastUsedAt: string): ImageDocument =>
    imageRecord({ properties: { os }, public: os === 'new', lastUsedAt });
  const store = openMemoryStore();
  const put = (member: number, image: ImageDocument) => ({
    put: `/member/${member}/images/fp`,
    value: encodeDocument<'images'>(image),
  });
  await store.txn(
    [],
    [put(1, document('new', 'first')), put(2, document('old', 'second')), put(4, document('odd', 'last'))],
  );
  const repaired = async (member: number): Promise<ImageDocument | undefined> => {
    const records = await Records.open(store, member);
    await new MemberImages({ records } as unknown as MemberImagesDeps).repair('fp');
    return records.images.get('fp')?.document;
  };
  expect(await repaired(2)).toEqual(document('new', 'second') satisfies ImageDocument);
  expect(await repaired(1)).toEqual(document('new', 'first'));
  expect(await repaired(3)).toBeUndefined();
});
