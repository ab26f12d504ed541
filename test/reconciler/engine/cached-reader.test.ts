// The cached lists of a host: which objects are read again after events.
import { expect, test } from 'vitest';
import { CachedLists } from '../../../reconciler/engine/observe/cached-reader.ts';
import type { LifecycleChange } from '../../../reconciler/core/drift/lifecycle-changes.ts';

const seen = (name: string): LifecycleChange =>
  ({ address: `container/${name}`, action: 'container-updated' }) as LifecycleChange;

test('a burst of events of several containers refreshes each of them', async () => {
  let memory = '1GiB';
  const one = (name: string) => ({ name, config: { 'limits.memory': memory } });
  const lists = new CachedLists({
    list: () => Promise.resolve([one('a'), one('b'), one('c')]),
    get: (_kind: string, name: string) => Promise.resolve({ metadata: one(name) }),
  } as never);
  const { signal } = new AbortController();
  await lists.list('container', signal);
  memory = '2GiB';
  await lists.refresh([seen('a'), seen('b')], signal);
  expect((await lists.list('container', signal)).map(({ name, config }) => [name, config?.['limits.memory']])).toEqual([
    ['c', '1GiB'],
    ['a', '2GiB'],
    ['b', '2GiB'],
  ]);
});
