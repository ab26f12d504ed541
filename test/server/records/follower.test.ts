// The view of the records follows what others write to the store, also when it was too far behind for the history.
import { expect, test } from 'vitest';
import { Records } from '../../../server/records/records.ts';
import { openMemoryStore } from '../../../server/store/memory/memory.ts';
import { bytes } from '../../support/store/watching.ts';
import { until } from '../../support/until.ts';

const profile = (description: string) => bytes(JSON.stringify({ v: 1, description, config: {}, devices: {} }));

test('puts and deletes of others appear in the view', async () => {
  const store = openMemoryStore();
  const records = await Records.open(store);
  const stop = new AbortController();
  const troubles: unknown[] = [];
  const following = records.follow(stop.signal, (error) => troubles.push(error));
  await store.txn(
    [],
    [
      { put: '/profiles/a', value: profile('one') },
      { put: '/unknown-kind/a', value: bytes('x') },
    ],
  );
  await until(() => records.profiles.get('a')?.document.description === 'one');
  await records.commit((changes) =>
    changes.put('profiles', 'a', { v: 1, description: 'own', config: {}, devices: {} }),
  );
  expect(records.profiles.get('a')?.document.description).toBe('own');
  await store.txn([], [{ del: '/profiles/a' }]);
  await until(() => !records.profiles.has('a'));
  stop.abort();
  await following;
  expect(troubles).toEqual([]);
});

test('a record that others rewrite as it is notifies no listener, and can be changed afterwards', async () => {
  const store = openMemoryStore();
  await store.txn([], [{ put: '/profiles/a', value: profile('one') }]);
  const records = await Records.open(store);
  const stop = new AbortController();
  const following = records.follow(stop.signal, () => {});
  const seen: string[] = [];
  records.onShared((kind, name) => seen.push(`${kind} ${name}`));
  await store.txn([], [{ put: '/profiles/a', value: profile('one') }]);
  await store.txn([], [{ put: '/profiles/b', value: profile('two') }]);
  await until(() => records.profiles.has('b'));
  expect(seen).toEqual(['profiles b']);
  await records.commit((changes) =>
    changes.put('profiles', 'a', { v: 1, description: 'own', config: {}, devices: {} }),
  );
  expect(records.profiles.get('a')?.document.description).toBe('own');
  stop.abort();
  await following;
});

test('a view that is behind the history reads everything again', async () => {
  const store = openMemoryStore({ maxRevisions: 1 });
  await store.txn(
    [],
    [
      { put: '/profiles/gone', value: profile('x') },
      { put: '/profiles/stays', value: profile('old') },
    ],
  );
  const records = await Records.open(store);
  await store.txn([], [{ del: '/profiles/gone' }]);
  for (let n = 0; n < 20; n++) await store.txn([], [{ put: '/profiles/stays', value: profile(`new ${n}`) }]);
  await store.compact((await store.status()).rev);
  const stop = new AbortController();
  const following = records.follow(stop.signal, () => {});
  await until(() => records.profiles.get('stays')?.document.description === 'new 19');
  expect(records.profiles.has('gone')).toBe(false);
  await store.txn([], [{ put: '/profiles/later', value: profile('y') }]);
  await until(() => records.profiles.has('later'));
  stop.abort();
  await following;
});

test('a record that cannot be read is reported, and following goes on', async () => {
  const store = openMemoryStore();
  const records = await Records.open(store);
  const stop = new AbortController();
  const troubles: string[] = [];
  const following = records.follow(stop.signal, (error) => troubles.push(String(error)));
  await store.txn([], [{ put: '/profiles/bad', value: bytes('{') }]);
  await until(() => troubles.some((line) => line.includes('/profiles/bad is not JSON')));
  await store.txn([], [{ del: '/profiles/bad' }, { put: '/profiles/good', value: profile('z') }]);
  await until(() => records.profiles.has('good'));
  stop.abort();
  await following;
});
