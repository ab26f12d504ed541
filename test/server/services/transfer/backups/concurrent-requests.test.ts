// While a container or a volume is packed for a backup or an image its other requests continue; changes of the packed files wait.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { StorageDriver } from '../../../../../server/drivers/storage/driver.ts';
import { KeyedMutex } from '../../../../../server/lib/keyed-mutex.ts';
import type { Operation } from '../../../../../server/api/operation.ts';
import { createContainer, makeSeeded, setState, type TestDaemon } from '../../../../support/daemons/daemon.ts';
import { until } from '../../../../support/until.ts';

describe('shared work on a key', () => {
  test('allows other work once it shares, and delays only work that waits for its end', async () => {
    const locks = new KeyedMutex();
    const seen: string[] = [];
    let end = (): void => {};
    const ended = new Promise<void>((resolve) => (end = resolve));
    let share = (): void => {};
    const packing = locks.runShared('k', async (now) => {
      share = now;
      seen.push('packing');
      await ended;
      seen.push('packed');
      return 7;
    });
    const concurrent = locks.run('k', async () => void seen.push('concurrent'));
    const alone = locks.run('k', async () => {
      await locks.unshared('k');
      seen.push('alone');
    });
    await Promise.resolve();
    expect(seen).toEqual(['packing']);
    share();
    await concurrent;
    expect(seen).toEqual(['packing', 'concurrent']);
    end();
    await alone;
    expect(await packing).toBe(7);
    expect(seen).toEqual(['packing', 'concurrent', 'packed', 'alone']);
    await locks.unshared('k');
  });

  test('failed shared work on a key releases all waiting work', async () => {
    const locks = new KeyedMutex();
    for (const shares of [true, false]) {
      const failing = locks.runShared('k', async (share) => {
        if (shares) share();
        await Promise.resolve();
        throw new Error('as wished');
      });
      await expect(failing).rejects.toThrow('as wished');
      await locks.run('k', () => locks.unshared('k'));
    }
  });
});

describe.each([false, true])('with a storage driver whose volumes stay still: %s', (isStill) => {
  let daemon: TestDaemon;
  let gate: Promise<void> | undefined;
  let packing = 0;
  let go = (): void => {};
  const slow = (driver: StorageDriver): StorageDriver => ({
    ...driver,
    holdStill: (pool, volume, use, signal) =>
      driver.holdStill(pool, volume, (frozen) => use({ ...frozen, isStill: isStill || frozen.isStill }), signal),
    exportVolume: async (...all) => {
      packing += 1;
      await gate;
      return driver.exportVolume(...all);
    },
  });
  beforeAll(async () => {
    daemon = await makeSeeded({
      adapt: (host) => ({ ...host, storage: { ...host.storage, dir: slow(host.storage['dir'] as StorageDriver) } }),
    });
  });
  afterAll(async () => {
    go();
    await daemon.cleanUp();
  });
  beforeEach(() => {
    gate = new Promise((resolve) => (go = resolve));
    packing = 0;
  });

  let count = 0;
  const fresh = async (): Promise<string> => {
    const name = `${isStill ? 's' : 'd'}${(count += 1)}`;
    await createContainer(daemon, name);
    return name;
  };
  /** Begins, and waits until the backup is in progress. */
  const begin = async (path: string, body: object): Promise<string> => {
    const answer = await daemon.call('POST', path, body);
    expect(answer.status, answer.bytes.toString()).toBe(202);
    await until(() => packing > 0);
    return answer.body.operation as string;
  };
  const statusOf = async (operation: string): Promise<string> => ((await daemon.get(operation)) as Operation).status;
  const waits = async (method: string, path: string, body?: object): Promise<string> => {
    const answer = await daemon.call(method, path, body);
    expect(answer.status, answer.bytes.toString()).toBe(202);
    return answer.body.operation as string;
  };

  test('the container can start, run commands, be changed, take snapshots, freeze and stop during a backup', async () => {
    const name = await fresh();
    const backup = await begin(`/1.0/containers/${name}/backups`, { name: 'b' });
    const c = `/1.0/containers/${name}`;
    expect((await setState(daemon, name, 'start')).err).toBe('');
    await daemon.ok('POST', `${c}/exec`, { command: ['true'] });
    await daemon.ok('PUT', c, { ...(await daemon.get(c)), description: 'changed' });
    await daemon.ok('POST', `${c}/snapshots`, { name: 'meanwhile' });
    expect((await setState(daemon, name, 'freeze')).err).toBe('');
    expect((await setState(daemon, name, 'stop', { force: true })).err).toBe('');
    expect(await statusOf(backup)).toBe('Running');
    go();
    expect((await daemon.wait(backup)).err).toBe('');
  });

  test('the container can start during publishing only when its files are frozen in a snapshot', async () => {
    const name = await fresh();
    const publishing = await begin('/1.0/images', { source: { type: 'container', name }, properties: { name } });
    const start = await waits('PUT', `/1.0/containers/${name}/state`, { action: 'start' });
    if (isStill) expect((await daemon.wait(start)).err).toBe('');
    else {
      await fresh();
      expect(await statusOf(start)).toBe('Running');
    }
    go();
    expect((await daemon.wait(publishing)).err).toBe('');
    expect((await daemon.wait(start)).err).toBe('');
  });

  // What waits for the end of packing does so once it shares, however still its files are.
  if (isStill) return;

  test.each([
    ['deleting', 'DELETE', '', undefined],
    ['renaming', 'POST', '', { name: 'NEW' }],
    ['deleting the snapshot of', 'DELETE', '/snapshots/s', undefined],
    ['renaming the snapshot of', 'POST', '/snapshots/s', { name: 't' }],
    ['restoring', 'PUT', '', { restore: 's' }],
  ] as const)('%s the container waits for the backup', async (_what, method, tail, body) => {
    const name = await fresh();
    await daemon.ok('POST', `/1.0/containers/${name}/snapshots`, { name: 's' });
    const backup = await begin(`/1.0/containers/${name}/backups`, { name: 'b' });
    const sent = body !== undefined && 'name' in body && body.name === 'NEW' ? { name: `${name}new` } : body;
    const other = await waits(method, `/1.0/containers/${name}${tail}`, sent);
    // The waiting request has come as far as it can when another container has done the same.
    await fresh();
    expect(await statusOf(other)).toBe('Running');
    go();
    expect((await daemon.wait(backup)).err).toBe('');
    expect((await daemon.wait(other)).err).toBe('');
  });

  test.each([
    ['deleting', 'DELETE', '', undefined],
    ['renaming', 'POST', '', { name: 'NEW' }],
    ['moving', 'POST', '', { name: 'NEW', pool: 'other' }],
    ['deleting the snapshot of', 'DELETE', '/snapshots/s', undefined],
    ['renaming the snapshot of', 'POST', '/snapshots/s', { name: 't' }],
    ['restoring', 'PUT', '', { restore: 's' }],
  ] as const)('%s a custom volume waits for the backup, a new snapshot does not', async (_what, method, tail, body) => {
    const custom = '/1.0/storage-pools/default/volumes/custom';
    if (!(await daemon.get('/1.0/storage-pools')).includes('/1.0/storage-pools/other'))
      await daemon.call('POST', '/1.0/storage-pools', { name: 'other', driver: 'dir' });
    const freshVolume = async (): Promise<string> => {
      const name = `v${(count += 1)}`;
      expect((await daemon.call('POST', custom, { name })).status).toBe(200);
      await daemon.ok('POST', `${custom}/${name}/snapshots`, { name: 's' });
      return name;
    };
    const change = async (name: string): Promise<void> => {
      const sent = body !== undefined && 'name' in body && body.name === 'NEW' ? { ...body, name: `${name}new` } : body;
      const answer = await daemon.call(method, `${custom}/${name}${tail}`, sent);
      expect(answer.status, answer.bytes.toString()).toBeLessThan(300);
      if (answer.status === 202) expect((await daemon.wait(answer.body.operation as string)).err).toBe('');
    };
    const [name, other] = [await freshVolume(), await freshVolume()];
    const backup = await begin(`${custom}/${name}/backups`, { name: 'b', volume_only: false });
    await daemon.ok('POST', `${custom}/${name}/snapshots`, { name: 'meanwhile' });
    let isChanged = false;
    const changed = change(name).then(() => (isChanged = true));
    // The waiting request has come as far as it can when another volume has done the same.
    await change(other);
    expect([isChanged, await statusOf(backup)]).toEqual([false, 'Running']);
    go();
    expect((await daemon.wait(backup)).err).toBe('');
    await changed;
  });

  test('while a snapshot is published its container can start', async () => {
    const name = await fresh();
    await daemon.ok('POST', `/1.0/containers/${name}/snapshots`, { name: 's' });
    const source = { type: 'snapshot', name: `${name}/s` };
    const publishing = await begin('/1.0/images', { source, properties: { name } });
    expect((await setState(daemon, name, 'start')).err).toBe('');
    go();
    expect((await daemon.wait(publishing)).err).toBe('');
  });

  test('a backup that fails or is cancelled releases the container', async () => {
    const name = await fresh();
    const backup = await begin(`/1.0/containers/${name}/backups`, { name: 'b' });
    expect((await daemon.call('DELETE', backup)).status).toBe(202);
    go();
    await daemon.wait(backup);
    await daemon.ok('DELETE', `/1.0/containers/${name}`);
  });
});
