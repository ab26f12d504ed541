// Containers that get a custom volume amid a change of the volume on the host: they use it when the change has ended.
import { afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { StorageDriver } from '../../../../server/drivers/storage/driver.ts';
import { createContainer, setState } from '../../../support/daemons/daemon.ts';
import { seededDaemon } from '../../../support/daemons/file-daemon.ts';
import { until } from '../../../support/until.ts';

let gate: Promise<void> = Promise.resolve();
let open = (): void => {};
let waiting = 0;
const held = async <T>(work: () => Promise<T>): Promise<T> => {
  waiting += 1;
  await gate;
  return work();
};
/** Restores and deletions of custom volumes wait for the gate. */
const slow = (driver: StorageDriver): StorageDriver => ({
  ...driver,
  restoreSnapshot: (...all) => held(() => driver.restoreSnapshot(...all)),
  renameVolume: (...all) => held(() => driver.renameVolume(...all)),
  deleteVolume: (...all) =>
    all[1].type === 'custom' ? held(() => driver.deleteVolume(...all)) : driver.deleteVolume(...all),
});

const daemon = await seededDaemon({
  adapt: (host) => ({ ...host, storage: { ...host.storage, dir: slow(host.storage['dir'] as StorageDriver) } }),
});
beforeAll(async () => {
  await daemon.call('POST', '/1.0/storage-pools', { name: 'other', driver: 'dir' });
});
beforeEach(() => {
  gate = new Promise((resolve) => (open = resolve));
  waiting = 0;
});
afterEach(() => open());

let count = 0;
/** A volume with a snapshot, a container to get it, and one that shows how far others have come meanwhile. */
async function world() {
  const number = (count += 1);
  const [volume, user, other] = [`v${number}`, `user${number}`, `other${number}`];
  const path = `/1.0/storage-pools/default/volumes/custom/${volume}`;
  await daemon.call('POST', '/1.0/storage-pools/default/volumes/custom', { name: volume });
  await daemon.ok('POST', `${path}/snapshots`, { name: 's' });
  for (const name of [user, other]) await createContainer(daemon, name);
  const attach = () =>
    daemon.call('PATCH', `/1.0/containers/${user}`, {
      devices: { data: { type: 'disk', path: '/mnt', pool: 'default', source: volume } },
    });
  const statusOf = async (): Promise<string> => (await daemon.get(`/1.0/containers/${user}`)).status as string;
  /** Whatever waits for nothing has ended when this has. */
  const passTime = async (): Promise<void> => {
    for (const action of ['start', 'stop'])
      expect((await setState(daemon, other, action, { force: true })).err).toBe('');
  };
  return { volume, user, path, attach, statusOf, passTime };
}

describe('a container that gets a volume', () => {
  test('amid its restore starts after the restore', async () => {
    const { user, path, attach, statusOf, passTime } = await world();
    const restored = daemon.call('PUT', path, { restore: 's' });
    await until(() => waiting > 0);
    expect((await attach()).status).toBe(200);
    const started = setState(daemon, user, 'start');
    await passTime();
    expect(await statusOf()).toBe('Stopped');
    open();
    expect((await restored).status).toBe(200);
    expect((await started).err).toBe('');
    expect(await statusOf()).toBe('Running');
  });

  test('amid its rename starts with the renamed one', async () => {
    const { volume, user, path, attach, statusOf, passTime } = await world();
    const renamed = daemon.call('POST', path, { name: `${volume}-new` });
    await until(() => waiting > 0);
    expect((await attach()).status).toBe(200);
    const started = setState(daemon, user, 'start');
    await passTime();
    expect(await statusOf()).toBe('Stopped');
    open();
    expect((await renamed).status).toBe(200);
    expect((await started).err).toBe('');
    expect(daemon.sim.live?.plugged(user)?.['data']).toMatchObject({ source: `${volume}-new` });
  });

  test('while it runs, amid a move into another pool, plugs the moved one', async () => {
    const { volume, user, path, attach, passTime } = await world();
    expect((await setState(daemon, user, 'start')).err).toBe('');
    const moved = daemon.run('POST', path, { name: volume, pool: 'other' });
    await until(() => waiting > 0);
    const attached = attach();
    await passTime();
    expect(daemon.sim.live?.plugged(user)?.['data']).toBeUndefined();
    open();
    expect((await moved).err).toBe('');
    expect((await attached).status).toBe(200);
    expect(daemon.sim.live?.plugged(user)?.['data']).toMatchObject({ pool: 'other' });
  });
});
