// Answers of the store that arrive after the watch has passed them do not bring back records deleted since.
import { afterEach, expect, test } from 'vitest';
import { RecordConflict, Records } from '../../../server/records/records.ts';
import { openMemoryStore } from '../../../server/store/memory/memory.ts';
import type { Store } from '../../../server/store/store.ts';
import { bytes } from '../../support/store/watching.ts';
import { until } from '../../support/until.ts';

const document = (description: string) => ({ v: 1, description, config: {}, devices: {} }) as const;
const put = (description: string) => ({ put: '/profiles/a', value: bytes(JSON.stringify(document(description))) });

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

/** A member whose answers of these kinds are held back until `release`; its watch is not. */
async function memberWithLateAnswers(...late: readonly ('txn' | 'get')[]) {
  const store = openMemoryStore();
  await store.txn([], [put('first')]);
  let release: () => void = () => {};
  const released = new Promise<void>((resolve) => (release = resolve));
  let held = 0;
  const view: Store = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      if (!late.some((each) => each === name)) return value.bind(target) as unknown;
      return async (...args: unknown[]) => {
        const answer: unknown = await (Reflect.apply(value, target, args) as Promise<unknown>);
        held += 1;
        await released;
        return answer;
      };
    },
  });
  const records = await Records.open(view);
  const stop = new AbortController();
  const following = records.follow(stop.signal, () => {});
  ends.push(async () => {
    stop.abort();
    await following;
  });
  return { store, records, release, isHeld: () => held > 0 };
}

test('an own change whose acknowledgement comes after the deletion by another member stays deleted', async () => {
  const { store, records, release, isHeld } = await memberWithLateAnswers('txn');
  const changed = records.commit((changes) => changes.put('profiles', 'a', document('own')));
  await until(isHeld);
  const { rev } = await store.txn([], [{ del: '/profiles/a' }]);
  await records.contents.reached(rev, AbortSignal.timeout(30_000));
  release();
  await changed;
  expect(records.profiles.get('a')).toBeUndefined();
});

test('an own deletion whose acknowledgement comes after a new creation by another member leaves that one', async () => {
  const { store, records, release, isHeld } = await memberWithLateAnswers('txn');
  const deleted = records.commit((changes) => changes.delete('profiles', 'a'));
  await until(isHeld);
  const { rev } = await store.txn([], [put('anew')]);
  await records.contents.reached(rev, AbortSignal.timeout(30_000));
  release();
  await deleted;
  expect(records.profiles.get('a')?.document.description).toBe('anew');
});

test.each([
  ['a deletion', [{ del: '/profiles/a' }], undefined],
  ['a deletion and a new creation', [{ del: '/profiles/a' }, put('anew')], 'anew'],
] as const)('after a conflict the view is not older than what the watch has told: %s', async (_, steps, seen) => {
  const { store, records, release } = await memberWithLateAnswers('get');
  const conflict = records.commit((changes) => {
    changes.put('profiles', 'a', document('own'));
    // Another member is first, before this one hears of it.
    void store.txn([], [put('other')]);
  });
  const outcome = conflict.then(
    () => 'done',
    (error: unknown) => error,
  );
  await until(() => records.profiles.get('a')?.document.description === 'other');
  for (const step of steps) {
    const { rev } = await store.txn([], [step]);
    await records.contents.reached(rev, AbortSignal.timeout(30_000));
  }
  release();
  expect(await outcome).toBeInstanceOf(RecordConflict);
  expect(records.profiles.get('a')?.document.description).toBe(seen);
});
