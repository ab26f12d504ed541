// Lists of a cluster stay whole when a member fails: what is not listed counts as deleted for every client.
import { expect, test } from 'vitest';
import { AppError, errors } from '../../../server/api/errors.ts';
import { withOtherMembers } from '../../../server/http/routes/merged-lists.ts';

type Cluster = Parameters<typeof withOtherMembers>[1];
type Absent = Parameters<typeof withOtherMembers>[2];
type Routes = Parameters<typeof withOtherMembers>[0];

const recorded = { name: 'away', status: 'Error', architecture: 'x86_64' };

/** The list of a cluster whose other member answers like `json`. */
async function listed(id: string, json: () => Promise<readonly unknown[]>, query: object): Promise<unknown> {
  const member = { name: 'm2', number: 2, isHere: false, isPresent: true };
  const cluster = { isOn: true, ownName: 'm1', members: { list: () => [member] }, links: { json } };
  const absent = {
    containers: () => [recorded],
    volumes: async () => [recorded],
    volumeUrls: async () => ['/1.0/storage-pools/p/volumes/custom/away'],
    leases: () => [recorded],
  };
  const own = { [id]: async () => ({ kind: 'sync', metadata: [] }) };
  const routes = withOtherMembers(
    own as unknown as Routes,
    cluster as unknown as Cluster,
    absent as unknown as Absent,
  ) as unknown as Readonly<Record<string, (context: unknown) => Promise<{ readonly metadata: unknown }>>>;
  const caller = { project: 'default' };
  const context = { query, caller, params: { pool: 'p', name: 'n' }, request: { url: '/1.0/x' } };
  return (await routes[id]?.(context))?.metadata;
}

const full = { recursion: '2' };

test.each([
  ['is gone', errors.unavailable('m2 is gone')],
  ['fails', new AppError('internal', 'its pool driver fails')],
  ['has a full disk', new AppError('diskFull', 'no space')],
  ['does not know the query', new AppError('badRequest', 'recursion')],
  ['answers nonsense', new SyntaxError('Unexpected token')],
])('A list has the recorded objects of a member that %s', async (_what, error) => {
  for (const id of ['containers.list', 'volumes.list', 'volumes.listType', 'networks.leases'])
    expect(await listed(id, () => Promise.reject(error), full)).toEqual([recorded]);
  const urls = await listed('volumes.list', () => Promise.reject(error), {});
  expect(urls).toEqual(['/1.0/storage-pools/p/volumes/custom/away']);
});

test('A list has what a member answers, and nothing of a member without the pool', async () => {
  const there = { name: 'there' };
  expect(await listed('volumes.list', async () => [there], full)).toEqual([there]);
  const without = (): Promise<never> => Promise.reject(new AppError('notFound', 'The pool p was not found'));
  expect(await listed('volumes.list', without, full)).toEqual([]);
});
