// A container moves into another pool of its server completely or not at all, and copies in other pools can be restored, on every
// runtime.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import type { StorageDriver } from '../../../../server/drivers/storage/driver.ts';
import {
  createContainer,
  hostRemains,
  makeSeeded,
  realRuntimeMissing,
  setState,
} from '../../../support/daemons/daemon.ts';
import type { TestDaemon } from '../../../support/daemons/daemon.ts';

const noLxc = await realRuntimeMissing();

/** The next failure of the deletion of a container's volume: before or after the deletion. */
let fault: 'before' | 'after' | undefined;
const faulty = (driver: StorageDriver): StorageDriver =>
  new Proxy(driver, {
    get(target, key) {
      const value: unknown = Reflect.get(target, key);
      if (typeof value !== 'function') return value;
      if (key !== 'deleteVolume') return value.bind(target) as unknown;
      return async (...args: Parameters<StorageDriver['deleteVolume']>) => {
        const when = args[1].type === 'container' ? fault : undefined;
        if (when !== undefined) fault = undefined;
        if (when !== 'before') await target.deleteVolume(...args);
        if (when !== undefined) throw new Error('the disk is on fire');
      };
    },
  });

describe.each(['sim', 'lxc'] as const)('on %s', (runtime) => {
  describe.skipIf(runtime === 'lxc' && noLxc !== undefined)('moving into another pool', () => {
    let daemon: TestDaemon;
    let count = 0;
    const fresh = (): string => `m${(count += 1)}`;

    beforeAll(async () => {
      daemon = await makeSeeded({
        runtime,
        adapt: (host) => ({ ...host, storage: { ...host.storage, dir: faulty(host.storage['dir'] as StorageDriver) } }),
      });
      await daemon.call('POST', '/1.0/storage-pools', { name: 'other', driver: 'dir' });
    });
    afterEach(() => void (fault = undefined));
    afterAll(async () => {
      await daemon.cleanUp();
      expect(hostRemains(daemon.dir)).toEqual([]);
    });

    const dirOf = (pool: string, name: string): string => join(daemon.dir, 'storage-pools', pool, 'containers', name);
    const url = (name: string): string => `/1.0/containers/${name}`;
    const rootPool = async (path: string): Promise<string> =>
      (await daemon.get(path)).expanded_devices.root.pool as string;
    /** A container with the file `a` in its snapshot `s`, and `b` only in the current state. */
    async function make(name: string, more: object = {}): Promise<void> {
      await createContainer(daemon, name, more);
      mkdirSync(join(dirOf('default', name), 'rootfs'), { recursive: true });
      writeFileSync(join(dirOf('default', name), 'rootfs/a'), 'a');
      await daemon.ok('POST', `${url(name)}/snapshots`, { name: 's' });
      writeFileSync(join(dirOf('default', name), 'rootfs/b'), 'b');
    }

    test('it keeps files, snapshots, addresses and history, and can be restored there', async () => {
      const name = fresh();
      await make(name, { config: { 'user.a': 'b' } });
      const before = await daemon.get(url(name));
      await daemon.ok('POST', url(name), { name, migration: true, pool: 'other' });
      const after = await daemon.get(url(name));
      expect(after).toEqual({
        ...before,
        devices: { root: { type: 'disk', path: '/', pool: 'other' } },
        expanded_devices: { ...before.expanded_devices, root: { type: 'disk', path: '/', pool: 'other' } },
      });
      expect(existsSync(dirOf('default', name))).toBe(false);
      expect(existsSync(join(dirOf('other', name), 'rootfs/b'))).toBe(true);
      expect(await rootPool(`${url(name)}/snapshots/s`)).toBe('other');
      await daemon.ok('PUT', url(name), { restore: 's' });
      expect(existsSync(join(dirOf('other', name), 'rootfs/a'))).toBe(true);
      expect(existsSync(join(dirOf('other', name), 'rootfs/b'))).toBe(false);
      await daemon.ok('DELETE', url(name));
      expect(existsSync(dirOf('other', name))).toBe(false);
    });

    test('it may get another name on the way, and leave its snapshots behind', async () => {
      const [name, renamed] = [fresh(), fresh()];
      await make(name);
      const events = await daemon.listen('lifecycle');
      await daemon.ok('POST', url(name), { name: renamed, migration: true, pool: 'other', container_only: true });
      await events.next(({ metadata }) => JSON.stringify(metadata).includes(`"new_name":"${renamed}"`));
      events.close();
      expect((await daemon.call('GET', url(name))).status).toBe(404);
      expect(await daemon.get(`${url(renamed)}/snapshots`)).toEqual([]);
      expect(await rootPool(url(renamed))).toBe('other');
    });

    test('within its pool it only gets another name', async () => {
      const [name, renamed] = [fresh(), fresh()];
      await make(name);
      await daemon.ok('POST', url(name), { name: renamed, migration: true, project: 'default' });
      expect(await rootPool(`${url(renamed)}/snapshots/s`)).toBe('default');
      expect((await daemon.get(url(renamed))).devices).toEqual({});
    });

    test('a move into the pool that has the container changes nothing', async () => {
      const name = fresh();
      await createContainer(daemon, name);
      await daemon.ok('POST', `${url(name)}/snapshots`, { name: 's' });
      const before = await daemon.get(url(name));
      await daemon.ok('POST', url(name), { name, migration: true, pool: 'default' });
      expect(await daemon.get(url(name))).toEqual(before);
      expect(await daemon.get(`${url(name)}/snapshots`)).toHaveLength(1);
    });

    test('an impossible move is refused before it starts', async () => {
      const [name, taken] = [fresh(), fresh()];
      await createContainer(daemon, name);
      await createContainer(daemon, taken);
      const refused = async (body: object): Promise<[number, string]> => {
        const { status, metadata } = await daemon.call('POST', url(name), { name, migration: true, ...body });
        return [status, metadata?.message as string];
      };
      expect(await refused({ pool: 'nope' })).toEqual([404, expect.stringMatching(/storage pool nope/)]);
      expect(await refused({ pool: 'other', name: taken })).toEqual([409, expect.stringMatching(taken)]);
      expect(await refused({ pool: 'other', name: 'a/b' })).toEqual([400, expect.stringMatching(/name/)]);
      expect(await refused({ pool: 'other', project: 'x' })).toEqual([404, expect.stringMatching(/project x/)]);
      if (runtime === 'lxc') return;
      // The empty ones here have no init; the tests of the stock clients move containers that run on lxc.
      await setState(daemon, name, 'start');
      expect(await refused({ pool: 'other' })).toEqual([400, expect.stringMatching(/running: stop it/)]);
    });

    test('it stays unchanged when its files cannot be deleted, and moves at the next attempt', async () => {
      const name = fresh();
      await make(name);
      const before = await daemon.get(url(name));
      fault = 'before';
      const failed = await daemon.run('POST', url(name), { name, migration: true, pool: 'other' });
      expect(failed).toMatchObject({ status: 'Failure', err: expect.stringMatching(/on fire/) });
      expect(await daemon.get(url(name))).toEqual(before);
      expect(existsSync(join(dirOf('default', name), 'rootfs/b'))).toBe(true);
      expect(existsSync(dirOf('other', name))).toBe(false);
      await daemon.ok('POST', url(name), { name, migration: true, pool: 'other' });
      expect(await rootPool(url(name))).toBe('other');
    });

    test('a move interrupted after the deletion of the old files is finished by the next daemon', async () => {
      const name = fresh();
      await make(name);
      fault = 'after';
      await daemon.run('POST', url(name), { name, migration: true, pool: 'other' });
      await daemon.restart();
      expect(await rootPool(url(name))).toBe('other');
      expect(existsSync(join(dirOf('other', name), 'rootfs/b'))).toBe(true);
      await daemon.ok('PUT', url(name), { restore: 's' });
    });

    test('a copy in another pool can be restored to a copied snapshot', async () => {
      const [name, copy] = [fresh(), fresh()];
      await make(name);
      const devices = { root: { type: 'disk', path: '/', pool: 'other' } };
      const source = { type: 'copy', source: name };
      await daemon.ok('POST', '/1.0/containers', { name: copy, devices, source });
      await daemon.ok('PUT', url(copy), { restore: 's' });
      expect(existsSync(join(dirOf('other', copy), 'rootfs/b'))).toBe(false);
      await daemon.ok('POST', `${url(name)}/snapshots`, { name: 't' });
      await daemon.ok('POST', '/1.0/containers', { name: copy, devices, source: { ...source, refresh: true } });
      expect(await rootPool(`${url(copy)}/snapshots/t`)).toBe('other');
      await daemon.ok('PUT', url(copy), { restore: 't' });
    });
  });
});
