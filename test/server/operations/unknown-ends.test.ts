// The store cannot tell whether the last transaction of a change has happened: the host must become what the records say.
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../../server/lib/clock.ts';
import { silentLog } from '../../../server/lib/log.ts';
import { type Saga, Sagas } from '../../../server/operations/saga.ts';
import { Records } from '../../../server/records/records.ts';
import { openMemoryStore } from '../../../server/store/memory/memory.ts';
import { type Store, StoreError } from '../../../server/store/store.ts';
import { until } from '../../support/until.ts';

const ends: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0)) await end();
});

interface Trouble {
  /** Whether the last transaction of the saga is applied before the store fails. */
  readonly isApplied: boolean;
  /** How many later transactions fail, too. */
  readonly silentFor: number;
}

const unknown = () => new StoreError('Unknown', 'the store did not answer');

/** Renames the profile a to b, on a host that is the set `host`. */
async function renamedWith({ isApplied, silentFor }: Trouble) {
  const store = openMemoryStore();
  let silent = 0;
  let isOver = false;
  const troubled: Store = new Proxy(store, {
    get(target, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      if (name !== 'txn') return value.bind(target) as unknown;
      const txn: Store['txn'] = async (ifAll, then) => {
        if (silent > 0) {
          silent -= 1;
          throw unknown();
        }
        const isLast = !isOver && then.some((op) => 'del' in op && op.del.startsWith('/sagas/'));
        if (isLast && !isApplied) silent = silentFor;
        isOver ||= isLast;
        if (isLast && !isApplied) throw unknown();
        const answer = await target.txn(ifAll, then);
        if (isLast) silent = silentFor;
        if (isLast) throw unknown();
        return answer;
      };
      return txn;
    },
  });
  const records = await Records.open(troubled);
  const stop = new AbortController();
  const following = records.follow(stop.signal, () => {});
  const document = { v: 1, description: '', config: {}, devices: {} } as const;
  await records.commit((changes) => changes.put('profiles', 'a', document));
  const host = new Set(['a']);
  const move = (from: string, to: string): void => {
    if (host.delete(from)) host.add(to);
  };
  const saga: Saga<unknown> = {
    kind: 'profile-rename',
    onRestart: 'unwind',
    begin: (changes) => changes.claim('profiles', 'a'),
    steps: [{ name: 'host', execute: async () => move('a', 'b'), undo: async () => move('b', 'a') }],
    commit(changes) {
      changes.delete('profiles', 'a');
      changes.put('profiles', 'b', document);
    },
  };
  const sagas = new Sagas({ records, clock: systemClock(), log: silentLog, table: { 'profile-rename': saga } });
  ends.push(async () => {
    await sagas.close();
    stop.abort();
    await following;
  });
  const answer = await sagas.run(saga, {}).then(
    () => 'done',
    (error: unknown) => (error as StoreError).code,
  );
  return { answer, host, records, sagas };
}

test.each([
  ['happened', 0, 'done', 'b'],
  ['not happened', 0, 'Unknown', 'a'],
  ['happened, and only the watch answers for a while', 2, 'done', 'b'],
  ['not happened, and the store stays silent for a while', 2, 'Unknown', 'a'],
] as const)('the last transaction has %s: records and host agree', async (what, silentFor, expected, name) => {
  const isApplied = !what.startsWith('not');
  const { answer, host, records, sagas } = await renamedWith({ isApplied, silentFor });
  expect(answer).toBe(expected);
  await until(() => sagas.problems.length === 0 && records.sagas.size === 0);
  await until(() => records.profiles.has(name));
  expect(records.profiles.list().map((entry) => entry.name)).toEqual([name]);
  expect([...host]).toEqual([name]);
});
