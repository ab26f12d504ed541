// The image that a cluster shows of the copies on its members.
import { expect, test } from 'vitest';
import { imageOfCluster, imagesOfCluster } from '../../../server/membership/cluster-images.ts';
import { encodeDocument } from '../../../server/records/codec.ts';
import type { ImageDocument } from '../../../server/records/documents.ts';
import { Records } from '../../../server/records/records.ts';
import { openMemoryStore } from '../../../server/store/memory/memory.ts';
import { imageRecord } from '../../support/fakes/records.ts';

const document = (filename: string, lastUsedAt: string): ImageDocument => imageRecord({ filename, lastUsedAt });

test('the last use of an image is that of any copy, whichever member is asked and whichever record describes it', async () => {
  const store = openMemoryStore();
  const uses = ['1970-01-01T00:00:00Z', '2026-03-01T00:00:00Z', '2026-02-01T00:00:00Z'];
  const puts = uses.map((used, index) => ({
    put: `/member/${index + 1}/images/fp`,
    value: encodeDocument<'images'>(document(`copy ${index + 1}`, used)),
  }));
  await store.txn([], puts);
  const shown = { name: 'fp', document: document('copy 1', '2026-03-01T00:00:00Z') };
  for (const member of [1, 2, 3, 4]) {
    const records = await Records.open(store, member);
    expect(imageOfCluster(records, 'fp')).toMatchObject(shown);
    expect(imagesOfCluster(records)).toMatchObject([shown]);
  }
});
