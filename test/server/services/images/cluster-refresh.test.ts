// Scheduled updates of images in a cluster: one of the members that have an image looks for a newer one.
import { expect, test } from 'vitest';
import { silentLog } from '../../../../server/lib/log.ts';
import type { ImageDocument } from '../../../../server/records/documents.ts';
import { Records } from '../../../../server/records/records.ts';
import { ImageRefresh, type ImageRefreshDeps } from '../../../../server/services/images/image-refresh.ts';
import { openMemoryStore } from '../../../../server/store/memory/memory.ts';
import { until } from '../../../support/until.ts';

const never = '1970-01-01T00:00:00Z';
const ofAll = 'a'.repeat(64);
const ofTwo = 'b'.repeat(64);
const document: ImageDocument = {
  v: 1,
  architecture: 'x86_64',
  filename: '',
  properties: {},
  public: false,
  autoUpdate: true,
  cached: false,
  sizeBytes: 5,
  createdAt: never,
  expiresAt: never,
  lastUsedAt: never,
  uploadedAt: never,
  split: false,
  source: { server: 'https://images.example', protocol: 'simplestreams', certificate: '', alias: 'a' },
  lifecycle: 'ready',
};

/** The images that the member updates when it is due. */
async function updatedBy(records: Records, present: readonly number[]): Promise<readonly string[]> {
  const started: string[] = [];
  const operations = {
    start: ({ resources }: { readonly resources: { readonly images: readonly string[] } }) => {
      started.push(...resources.images);
      return { id: '' };
    },
    wait: () => Promise.resolve(),
  };
  const cluster = { members: { isPresent: (number: number) => present.includes(number) } };
  const clock = { nowMs: () => 0 };
  const deps = { records, operations, cluster, clock, log: silentLog } as unknown as ImageRefreshDeps;
  const [update] = new ImageRefresh(deps).tasks();
  await update?.run(new Date(0), new AbortController().signal);
  return started.map((url) => url.split('/').at(-1) ?? '');
}

test('the present member with the lowest number of those that have an image updates it', async () => {
  const store = openMemoryStore();
  const stop = new AbortController();
  const [one, two, three] = await Promise.all([1, 2, 3].map((number) => Records.open(store, number)));
  if (one === undefined || two === undefined || three === undefined) throw new Error('no records');
  for (const records of [one, two, three]) void records.follow(stop.signal, () => {});
  try {
    for (const records of [one, two, three])
      await records.commit((changes) => {
        changes.put('images', ofAll, document);
        if (records !== one) changes.put('images', ofTwo, document);
      });
    for (const records of [one, two, three]) await until(() => records.others.having('images', ofAll).length === 2);
    await until(() => three.others.having('images', ofTwo).length === 1);

    expect(await updatedBy(one, [1, 2, 3])).toEqual([ofAll]);
    expect(await updatedBy(two, [1, 2, 3])).toEqual([ofTwo]);
    expect(await updatedBy(three, [1, 2, 3])).toEqual([]);
    expect(await updatedBy(two, [2, 3])).toEqual([ofAll, ofTwo]);
  } finally {
    stop.abort();
  }
});
