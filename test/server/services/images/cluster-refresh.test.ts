// Updates of images in a cluster: one of the members that have an image looks for a newer one, and all of them delete the older one.
import { expect, test } from 'vitest';
import { statusCodes } from '../../../../server/api/status.ts';
import { silentLog } from '../../../../server/lib/log.ts';
import { Records } from '../../../../server/records/records.ts';
import type { Changes } from '../../../../server/records/changes.ts';
import { ImageRefresh, type ImageRefreshDeps } from '../../../../server/services/images/image-refresh.ts';
import { MemberImages, type MemberImagesDeps } from '../../../../server/services/images/member-images.ts';
import { replicateImages, type ReplicateImagesDeps } from '../../../../server/services/images/replicate-images.ts';
import { daemonCaller } from '../../../../server/services/shared/caller.ts';
import { openMemoryStore } from '../../../../server/store/memory/memory.ts';
import { until } from '../../../support/until.ts';
import { imageRecord } from '../../../support/fakes/records.ts';

const ofAll = 'a'.repeat(64);
const ofTwo = 'b'.repeat(64);
const newer = 'c'.repeat(64);
const document = imageRecord({
  autoUpdate: true,
  source: { server: 'https://images.example', protocol: 'simplestreams', certificate: '', alias: 'a' },
});

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

/** Members 1 to 3, each with an image of all. */
async function threeMembers(stop: AbortSignal): Promise<readonly [Records, Records, Records]> {
  const store = openMemoryStore();
  const [one, two, three] = await Promise.all([1, 2, 3].map((number) => Records.open(store, number)));
  if (one === undefined || two === undefined || three === undefined) throw new Error('no records');
  const all = [one, two, three] as const;
  for (const records of all) void records.follow(stop, () => {});
  for (const records of all) await records.commit((changes) => changes.put('images', ofAll, document));
  for (const records of all) await until(() => records.others.having('images', ofAll).length === 2);
  return all;
}

test('the present member with the lowest number of those that have an image updates it', async () => {
  const stop = new AbortController();
  const [one, two, three] = await threeMembers(stop.signal);
  try {
    for (const records of [two, three]) await records.commit((changes) => changes.put('images', ofTwo, document));
    await until(() => [two, three].every((records) => records.others.having('images', ofTwo).length === 1));

    expect(await updatedBy(one, [1, 2, 3])).toEqual([ofAll]);
    expect(await updatedBy(two, [1, 2, 3])).toEqual([ofTwo]);
    expect(await updatedBy(three, [1, 2, 3])).toEqual([]);
    expect(await updatedBy(two, [2, 3])).toEqual([ofAll, ofTwo]);
  } finally {
    stop.abort();
  }
});

/** Replaces the image of all on this member, and dies when it is about to ask the others to delete theirs. */
async function refresh(records: Records, present: readonly number[] = [1, 2, 3]): Promise<void> {
  const remove = (_caller: undefined, image: string, _signal: AbortSignal, handOver: (changes: Changes) => void) =>
    records.retry((changes) => {
      handOver(changes);
      changes.delete('images', image);
    });
  const images = {
    find: () => ({ name: ofAll, document }),
    remove,
    removeOfAll: () => Promise.reject(new Error('the daemon is dead')),
  };
  const pulls = {
    find: () => Promise.resolve({ fingerprint: newer }),
    fetch: () => records.commit((changes) => changes.put('images', newer, { ...document, isReplaced: true })),
  };
  let ended: Promise<unknown> = Promise.resolve();
  const operations = {
    start: ({ run }: { readonly run: (handle: object, signal: AbortSignal) => Promise<unknown> }) => {
      ended = run({ update: () => {} }, new AbortController().signal);
    },
  };
  const cluster = { members: { isPresent: (number: number) => present.includes(number) } };
  const events = { lifecycle: () => {} };
  const deps = { records, images, pulls, operations, cluster, events } as unknown as ImageRefreshDeps;
  new ImageRefresh(deps).refresh(daemonCaller, ofAll);
  await ended;
}

/** What the member does each minute: the images that it fetches or deletes. */
async function keptBy(records: Records) {
  const [fetched, removed]: [string[], string[]] = [[], []];
  const present = [1, 2, 3].map((number) => ({ number, isPresent: true, document: {} }));
  const cluster = {
    isOn: true,
    members: { here: records.member, list: () => present, isPresent: () => true },
  };
  const images = { remove: async (_caller: undefined, image: string) => void removed.push(image) };
  const members = { fetch: async (image: string) => void fetched.push(image), repair: () => Promise.resolve() };
  const deps = { records, cluster, images, members, log: silentLog } as unknown as ReplicateImagesDeps;
  await replicateImages(deps).run(new Date(0), new AbortController().signal);
  return { fetched, removed };
}

test('members delete their copies of a replaced image also if the member that replaced it dies before it asks them', async () => {
  const stop = new AbortController();
  const [one, two, three] = await threeMembers(stop.signal);
  try {
    await expect(refresh(one)).rejects.toThrow('the daemon is dead');
    for (const records of [two, three]) await until(() => records.images.get(ofAll)?.document.isReplaced === true);
    for (const records of [two, three]) {
      await until(() => records.others.having('images', newer).length === 1);
      expect((await keptBy(records)).removed).toEqual([ofAll]);
    }
  } finally {
    stop.abort();
  }
});

test('an image is refreshed while a member with a copy is offline, and no other member waits for that one', async () => {
  const stop = new AbortController();
  const [one, two] = await threeMembers(stop.signal);
  try {
    await refresh(one, [1, 2]);
    await until(() => two.images.get(ofAll)?.document.isReplaced === true);
    expect((await keptBy(two)).removed).toEqual([ofAll]);
  } finally {
    stop.abort();
  }
});

test('a member that has deleted its copy before the deletion that it was asked for began has done what it should', async () => {
  const stop = new AbortController();
  const [one, two, three] = await threeMembers(stop.signal);
  try {
    await three.commit((changes) => changes.delete('images', ofAll));
    await until(() => one.others.having('images', ofAll).length === 1);
    const ask = async (_member: unknown, method: string) => {
      if (method === 'DELETE') return { id: 'o' };
      await two.commit((changes) => changes.delete('images', ofAll));
      return { status_code: statusCodes.failure, err: 'The image was not found' };
    };
    const readBarrier = () => until(() => one.others.having('images', ofAll).length === 0);
    const byNumber = (number: number) => ({ name: `m${number}`, number, isPresent: true });
    const cluster = { ask, readBarrier, members: { byNumber } };
    const members = new MemberImages({ records: one, cluster } as unknown as MemberImagesDeps);
    const removeHere = () => one.commit((changes) => changes.delete('images', ofAll));
    await members.removeAll(ofAll, removeHere, stop.signal);
    expect(one.images.has(ofAll)).toBe(false);
  } finally {
    stop.abort();
  }
});

test('a member neither fetches a replaced image nor deletes the newer one', async () => {
  const stop = new AbortController();
  const [one] = await threeMembers(stop.signal);
  try {
    await refresh(one, [1]);
    expect(one.others.having('images', ofAll).map(({ document: { isReplaced } }) => isReplaced)).toEqual([true, true]);
    expect(await keptBy(one)).toEqual({ fetched: [], removed: [] });
  } finally {
    stop.abort();
  }
});
