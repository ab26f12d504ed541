// Keeps the contents current for a store with other writers: follows a watch, re-reads everything if history is gone.
import { pause } from '../lib/shared/deadline.ts';
import { type Store, StoreError } from '../store/store.ts';
import type { Contents } from './contents.ts';
import { withoutUndefined } from '../lib/shared/without-undefined.ts';

/** The pause before a watch is reopened. */
const followAgainMs = 1_000;
const pageRecords = 1_000;

/** Reads every record once. Throws StoreError Corrupt naming the first unreadable record. */
export async function readAll(store: Store, contents: Contents): Promise<void> {
  const present = new Set<string>();
  let readAt = Number.POSITIVE_INFINITY;
  for (let after: string | undefined; ;) {
    const page = await store.range('/', { limit: pageRecords, ...withoutUndefined({ after }) });
    readAt = Math.min(readAt, page.rev);
    for (const record of page.records) {
      present.add(record.key);
      contents.take(record);
      after = record.key;
    }
    if (page.records.length < pageRecords) break;
  }
  contents.keepOnly(present, readAt);
  contents.rev = readAt;
}

/** Runs until the signal aborts or the store closes. Never throws: reports errors to `onTrouble` and retries. */
export async function follow(
  store: Store,
  contents: Contents,
  signal: AbortSignal,
  onTrouble: (error: unknown) => void,
): Promise<void> {
  while (!signal.aborted) {
    try {
      for await (const { rev, events } of store.watch('/', contents.rev + 1, signal)) {
        for (const event of events) contents.apply(event);
        contents.rev = rev;
      }
      return;
    } catch (error) {
      if (!(error instanceof StoreError && error.code === 'Compacted')) onTrouble(error);
      await readAll(store, contents).catch(onTrouble);
      await pause(followAgainMs, signal).catch(() => {});
    }
  }
}
