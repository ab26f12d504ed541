// Failed undos are retried without a restart of the daemon, and a deletion of such an object retries them too.
import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { PendingUndos, pauseAfter } from '../../../server/operations/pending-undos.ts';
import type { StorageDriver } from '../../../server/drivers/storage/driver.ts';
import { silentLog } from '../../../server/lib/log.ts';
import { createContainer, makeDaemon, makeSeeded, setState, type TestDaemon } from '../../support/daemons/daemon.ts';
import { until } from '../../support/until.ts';
import { tempFolder } from '../../support/temp-folder.ts';

type Operation =
  | 'createVolume'
  | 'deleteVolume'
  | 'createSnapshot'
  | 'deleteSnapshot'
  | 'renameVolume'
  | 'createPool'
  | 'deletePool'
  | 'renameSnapshot'
  | 'holdStill';

/** A driver whose operations do all or none of their work, and then fail. */
class FailingStorage {
  /** Called before the failure. */
  readonly after = new Map<Operation, () => void>();
  readonly before = new Set<Operation>();
  /** Number of failed calls of an operation. */
  failures = 0;

  wrap(driver: StorageDriver): StorageDriver {
    return new Proxy(driver, {
      get: (target, key) => {
        const value = Reflect.get(target, key, target) as unknown;
        if (typeof value !== 'function') return value;
        return async (...args: unknown[]) => {
          if (this.before.has(key as Operation)) throw this.#failure(key);
          const result = (await Reflect.apply(value, target, args)) as unknown;
          const then = this.after.get(key as Operation);
          if (then === undefined) return result;
          then();
          throw this.#failure(key);
        };
      },
    });
  }

  heal(): void {
    this.after.clear();
    this.before.clear();
  }

  #failure(key: string | symbol): Error {
    this.failures += 1;
    return new Error(`${String(key)}: the disk does not answer`);
  }
}

/** Synchronous methods are unchanged. */
function failing(storage: FailingStorage, driver: StorageDriver): StorageDriver {
  const wrapped = storage.wrap(driver);
  const atOnce = new Set(['volumePath', 'snapshotPath']);
  return new Proxy(driver, {
    get: (target, key) =>
      atOnce.has(String(key)) ? (Reflect.get(target, key, target) as unknown) : (Reflect.get(wrapped, key) as unknown),
  });
}

const nothing = (): void => {};

describe('a failed undo', () => {
  const storage = new FailingStorage();
  let daemon: TestDaemon;
  beforeAll(async () => {
    daemon = await makeSeeded({
      adapt: (host) => ({ ...host, storage: { ...host.storage, dir: failing(storage, host.storage['dir']!) } }),
    });
  });
  afterEach(() => storage.heal());
  afterAll(() => daemon.cleanUp());

  const status = async (path: string): Promise<number> => (await daemon.call('GET', path)).status;
  const refusal = async (method: string, path: string): Promise<readonly unknown[]> => {
    const answer = await daemon.call(method, path);
    return [answer.status, answer.metadata['code']];
  };
  const containers = '/1.0/containers';
  const volumes = '/1.0/storage-pools/default/volumes/custom';

  /** A creation that fails, and whose undo fails. */
  async function leaveHalf(name: string): Promise<void> {
    storage.after.set('createVolume', nothing);
    storage.before.add('deleteVolume');
    const operation = await daemon.run('POST', containers, { name, source: { type: 'none' } });
    expect(operation.err).toContain('the disk does not answer');
    expect(await status(`${containers}/${name}`)).toBe(200);
    storage.after.delete('createVolume');
  }

  test('a failed undo of a creation is retried automatically, and reported once', async () => {
    await leaveHalf('half');
    const failures = storage.failures;
    await until(() => storage.failures > failures);
    storage.heal();
    await until(async () => (await status(`${containers}/half`)) === 404);
    const reports = daemon.logged.filter(
      (line) => line.startsWith('error:') && line.includes('Undoing container-create'),
    );
    expect(reports).toHaveLength(1);
    await createContainer(daemon, 'half');
    await daemon.ok('DELETE', `${containers}/half`);
  });

  test('is retried at once by a deletion, which reports why it is still impossible', async () => {
    await leaveHalf('half2');
    const refused = await daemon.run('DELETE', `${containers}/half2`);
    expect(refused.err).toMatch(/half2.*undoing container-create failed.*the disk does not answer/);
    storage.heal();
    await daemon.ok('DELETE', `${containers}/half2`);
    expect(await status(`${containers}/half2`)).toBe(404);
  });

  test('is retried by the next daemon, automatically and by a deletion', async () => {
    await leaveHalf('half3');
    await daemon.restart();
    expect(await status(`${containers}/half3`)).toBe(200);
    expect((await daemon.run('DELETE', `${containers}/half3`)).err).toContain('undoing container-create failed');
    storage.heal();
    await daemon.ok('DELETE', `${containers}/half3`);
  });

  test('a failed undo of a renaming keeps the container from starting, and the next start retries it', async () => {
    await createContainer(daemon, 'first');
    let renamings = 0;
    storage.after.set('renameVolume', () => {
      renamings += 1;
      if (renamings === 1) storage.before.add('renameVolume');
    });
    expect((await daemon.run('POST', `${containers}/first`, { name: 'second' })).err).toContain('the disk does not');
    const refused = await setState(daemon, 'first', 'start');
    expect(refused.err).toMatch(/undoing container-rename failed/);
    storage.heal();
    expect((await setState(daemon, 'first', 'start')).err).toBe('');
    expect((await setState(daemon, 'first', 'stop', { force: true })).err).toBe('');
    await daemon.ok('DELETE', `${containers}/first`);
  });

  test('a failed undo of a snapshot, a volume, a volume snapshot or a pool ends with its deletion', async () => {
    await createContainer(daemon, 'owner');
    storage.after.set('createSnapshot', nothing);
    storage.before.add('deleteSnapshot');
    const snapshot = `${containers}/owner/snapshots/s`;
    expect((await daemon.run('POST', `${containers}/owner/snapshots`, { name: 's' })).err).toContain('does not answer');
    expect((await daemon.run('DELETE', snapshot)).err).toContain('undoing snapshot-create failed');
    storage.heal();
    await daemon.ok('DELETE', snapshot);
    expect(await status(snapshot)).toBe(404);

    storage.after.set('createVolume', nothing);
    storage.before.add('deleteVolume');
    expect((await daemon.call('POST', volumes, { name: 'v' })).status).toBe(500);
    expect(await refusal('DELETE', `${volumes}/v`)).toEqual([500, 'unavailable']);
    storage.heal();
    expect((await daemon.call('DELETE', `${volumes}/v`)).status).toBe(200);
    expect(await status(`${volumes}/v`)).toBe(404);

    expect((await daemon.call('POST', volumes, { name: 'w' })).status).toBe(200);
    storage.after.set('createSnapshot', nothing);
    storage.before.add('deleteSnapshot');
    await daemon.run('POST', `${volumes}/w/snapshots`, { name: 's' });
    expect((await daemon.run('DELETE', `${volumes}/w/snapshots/s`)).err).toContain('undoing volume-snapshot-create');
    storage.heal();
    await daemon.ok('DELETE', `${volumes}/w/snapshots/s`);
    expect(await status(`${volumes}/w/snapshots/s`)).toBe(404);

    storage.after.set('createPool', nothing);
    storage.before.add('deletePool');
    expect((await daemon.call('POST', '/1.0/storage-pools', { name: 'p2', driver: 'dir' })).status).toBe(500);
    expect(await refusal('DELETE', '/1.0/storage-pools/p2')).toEqual([500, 'unavailable']);
    storage.heal();
    expect((await daemon.call('DELETE', '/1.0/storage-pools/p2')).status).toBe(200);
    expect(await status('/1.0/storage-pools/p2')).toBe(404);
  });

  test.each([
    ['container', 'renamed'],
    ['container', 'deleted'],
    ['volume', 'renamed'],
    ['volume', 'deleted'],
  ])(
    'a failed undo of a snapshot spares those of another %s that has got the name, once it is %s',
    async (what, how) => {
      const url = what === 'volume' ? volumes : containers;
      const name = `${what}-${how}`;
      const folder = what === 'volume' ? 'custom-snapshots' : 'containers-snapshots';
      const filesOf = (owner: string): boolean =>
        existsSync(join(daemon.dir, 'storage-pools/default', folder, owner, 's'));
      const make = async (): Promise<void> => {
        if (what === 'container') await createContainer(daemon, name);
        else expect((await daemon.call('POST', url, { name })).status).toBe(200);
      };
      await make();
      const successes = (): number =>
        daemon.logged.filter((line) => line.startsWith('info: Succeeded at last: undoing')).length;
      const before = successes();
      storage.after.set('createSnapshot', nothing);
      storage.before.add('deleteSnapshot');
      expect((await daemon.run('POST', `${url}/${name}/snapshots`, { name: 's' })).err).toContain('does not answer');
      storage.after.clear();
      if (how === 'deleted') await daemon.call('DELETE', `${url}/${name}`);
      else await daemon.call('POST', `${url}/${name}`, { name: `${name}-2` });
      await until(async () => (await status(`${url}/${name}`)) === 404);
      await make();
      await daemon.ok('POST', `${url}/${name}/snapshots`, { name: 's' });
      storage.heal();
      await until(() => successes() > before);
      expect([filesOf(name), filesOf(`${name}-2`)]).toEqual([true, false]);
    },
  );

  test('a failed undo of a backup ends with its deletion', async () => {
    await createContainer(daemon, 'saved');
    const folder = join(daemon.dir, 'backups');
    const obstacles: string[] = [];
    storage.after.set('holdStill', () => {
      // A folder cannot be removed as a file.
      for (const file of readdirSync(folder).filter((name) => !name.startsWith('.')))
        obstacles.push(join(folder, `${file}.part`));
      for (const path of obstacles) mkdirSync(path);
    });
    const backups = `${containers}/saved/backups`;
    expect((await daemon.run('POST', backups, { name: 'b' })).err).toContain('does not answer');
    expect((await daemon.run('DELETE', `${backups}/b`)).err).toContain('undoing backup-create failed');
    storage.heal();
    await Promise.all(obstacles.map((path) => rm(path, { recursive: true })));
    await daemon.ok('DELETE', `${backups}/b`);
    expect(await status(`${backups}/b`)).toBe(404);
  });

  test('a failed undo of a network ends with its deletion or automatically', async () => {
    const config = { 'ipv4.address': '10.214.201.1/24', 'ipv6.address': 'none' };
    const heals = [
      daemon.simNetwork.faults.inject({ operation: 'up', network: 'net1', error: 'no bridge today', times: 1 }),
      daemon.simNetwork.faults.inject({ operation: 'down', network: 'net1', error: 'nor its removal' }),
    ];
    expect((await daemon.call('POST', '/1.0/networks', { name: 'net1', config })).status).toBe(500);
    const refused = await daemon.call('DELETE', '/1.0/networks/net1');
    expect([refused.status, refused.body.metadata]).toEqual([
      500,
      expect.objectContaining({ code: 'unavailable', message: expect.stringContaining('nor its removal') as string }),
    ]);
    for (const heal of heals) heal();
    await until(async () => (await status('/1.0/networks/net1')) === 404);
  });
});

test('pauses between attempts grow to a minute and no further', () => {
  expect([1, 2, 3, 6, 7, 50].map(pauseAfter)).toEqual([1_000, 2_000, 4_000, 32_000, 60_000, 60_000]);
});

test('is not retried once the daemon ends', async () => {
  let attempts = 0;
  const undo = (): Promise<void> => {
    attempts += 1;
    return Promise.reject(new Error('still'));
  };
  const undos = new PendingUndos(silentLog);
  undos.add(
    { id: '1', what: 'undoing a change', holds: [{ kind: 'containers', name: 'c' }], undo },
    new Error('first'),
  );
  await expect(undos.finish('containers', 'c')).rejects.toThrow(/undoing a change failed \(still\)/);
  expect(attempts).toBe(1);
  await undos.close();
  await undos.finish('containers', 'c');
  expect(attempts).toBe(1);
});

const isRoot = process.getuid?.() === 0;
if (!isRoot) console.log('skipped: a pool that turns read-only: it is mounted by root');

describe.skipIf(!isRoot)('on a disk that turns read-only for a moment', () => {
  test('a container in creation is removed soon after the disk is writable again', async () => {
    const disk = tempFolder('gtya-ro-');
    const mount = (...args: string[]): void => void execFileSync('mount', args, { stdio: 'pipe' });
    mount('-t', 'tmpfs', '-o', 'size=16m', 'tmpfs', disk);
    const storage = new FailingStorage();
    let daemon: TestDaemon | undefined;
    onTestFinished(async () => {
      mount('-o', 'remount,rw', disk);
      await daemon?.cleanUp();
      execFileSync('umount', ['-l', disk]);
      await rm(disk, { recursive: true, force: true });
    });
    await mkdir(join(disk, 'pool'));
    daemon = await makeDaemon({
      adapt: (host) => ({ ...host, storage: { ...host.storage, dir: failing(storage, host.storage['dir']!) } }),
    });
    const pool = { name: 'p', driver: 'dir', config: { source: join(disk, 'pool') } };
    expect((await daemon.call('POST', '/1.0/storage-pools', pool)).status).toBe(200);
    storage.after.set('createVolume', () => mount('-o', 'remount,ro', disk));
    const devices = { root: { type: 'disk', path: '/', pool: 'p' } };
    const made = await daemon.run('POST', '/1.0/containers', { name: 'c', source: { type: 'none' }, devices });
    expect(made.status).toBe('Failure');
    storage.heal();
    const refused = await daemon.run('DELETE', '/1.0/containers/c');
    expect(refused.err).toMatch(/undoing container-create failed.*(EROFS|read-only)/);
    mount('-o', 'remount,rw', disk);
    await until(async () => (await daemon?.call('GET', '/1.0/containers/c'))?.status === 404);
  });
});
