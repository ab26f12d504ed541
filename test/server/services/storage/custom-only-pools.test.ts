// Pools of a driver for custom volumes only (cephfs) take no root disk, neither a new one nor one that moves.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ClientError } from '../../../../server/client/client-error.ts';
import { openMemoryDaemon, type MemoryDaemon } from '../../../support/daemons/in-memory.ts';

let daemon: MemoryDaemon;
beforeAll(async () => (daemon = await openMemoryDaemon()));
afterAll(() => daemon.close());

const refusalOf = async (work: Promise<unknown>): Promise<unknown> =>
  work.then(
    () => 'taken',
    (error: unknown) => (error instanceof ClientError ? [error.status, error.details] : error),
  );

test('a pool of cephfs takes custom volumes, and refuses the root disk of a new container and of one that is there', async () => {
  const { client } = daemon;
  const rootIn = (pool: string) => ({ root: { type: 'disk', path: '/', pool } });
  await client.create('storage_pool', { name: 'files', driver: 'cephfs', config: { source: 'files/gantry' } });
  await client.create('storage_pool', { name: 'here', driver: 'dir', config: {} });
  await client.create('storage_volume', { name: 'data', pool: 'files', config: { size: '1GiB' } });
  const make = async (name: string, pool: string): Promise<unknown> =>
    client.operations.run(() =>
      client.create('container', { name, source: { type: 'none' }, profiles: [], devices: rootIn(pool) }),
    );
  const refused = [
    400,
    [
      {
        path: 'devices.root.pool',
        message:
          'the pool files of driver cephfs holds custom volumes only; put the root disk in a pool of another driver',
      },
    ],
  ];
  expect(await refusalOf(make('web', 'files'))).toEqual(refused);
  await make('web', 'here');
  const mount = { data: { type: 'disk', path: '/data', pool: 'files', source: 'data' } };
  await client.operations.run(() => client.patch('container', 'web', { devices: { ...rootIn('here'), ...mount } }));
});
