// A sync that somebody asked for, while a host of the set is offline.
import { expect, test } from 'vitest';
import { Hub } from '../../../reconciler/controller/hub.ts';
import type { SetOnHost } from '../../../reconciler/controller/sets/on-host/set-on-host.ts';
import { resync } from '../../../reconciler/controller/sets/resync.ts';
import { Run } from '../../../reconciler/controller/sets/run.ts';

test('a sync says which hosts were not compared, since they are offline', async () => {
  const host = (name: string, isOnline: boolean) => ({
    name,
    link: { isOnline, lookNow: () => {} },
    look: () => {},
    looked: () => Promise.resolve(),
    status: { status: isOnline ? 'synced' : 'unknown' },
  });
  const start = { kind: 'resync', revision: 'r1', by: 'ann', reason: 'sync' } as const;
  const run = new Run('web', start, 0, () => {}, new Hub());
  await resync(run, [host('h1', true), host('h2', false)] as unknown as readonly SetOnHost[], () => 1);
  expect(run.record).toMatchObject({ outcome: 'done', message: 'Not yet on h2: they get it later.' });
  expect(run.operation.hosts.map(({ host: name, status }) => `${name} ${status}`)).toEqual(['h1 done', 'h2 waiting']);
});
