// A controller that loses its lock or the room for its state while it changes hosts: running steps end, and no further one begins.
import { mkdir, rm, rmdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { lockKey } from '../../../reconciler/core/ownership/set-state.ts';
import { filesOf } from '../../../server/client/files/container-files.ts';
import { newLock, ownLocks } from '../../../reconciler/engine/notes/lock.ts';
import {
  hasStatus,
  openControllerWorld,
  profileText,
  simpleConfig,
  waitMs,
  type ControllerWorld,
} from '../../support/controller/world.ts';
import { until } from '../../support/until.ts';

const rival = 'rival';
let world: ControllerWorld;
beforeEach(async () => {
  ownLocks.add(rival);
  world = await openControllerWorld(2);
});
afterEach(async () => {
  ownLocks.delete(rival);
  await world.close();
});

/** An empty text releases the lock of the controller. */
const lock = async (text: string): Promise<unknown> =>
  world.daemons[0]?.client.patchServer({ config: { [lockKey('controller-main')]: text } });
const isActive = (): boolean => world.engine.overview().controller.isActive;

const slowText = `kind: storage_pool
name: p1
driver: dir
---
kind: container
name: slow
source: { type: none }
devices: { root: { type: disk, path: /, pool: p1 } }
manage: { wait: [{ file: /go, timeout: 5m }] }
---
${profileText('late', { 'user.note': 'a' })}manage: { wave: 1 }
`;
const current = (): readonly string[] =>
  world.engine.operations().flatMap(({ hosts }) => hosts.flatMap((host) => host.current));
const isWaiting = (): boolean => current().some((step) => step.includes('container/slow#wait'));
async function go(host: number): Promise<void> {
  const daemon = world.daemons[host - 1];
  if (daemon === undefined) throw new Error(`there is no host ${host}`);
  await filesOf(daemon.client.http, 'slow').write('/go', Readable.from(['go']));
}

test('a host of the next batch is not touched until its revision is stored', async () => {
  await world.write('web.yaml', slowText);
  await world.start(simpleConfig('rollout: { batches: 1 }'));
  await until(isWaiting, waitMs);
  const obstacle = join(world.folder, 'state/sets/web/state.json');
  await rm(obstacle);
  await mkdir(obstacle);
  await go(1);
  await until(() => JSON.stringify(world.engine.overview().sets).includes('it is a folder'), waitMs);
  expect(isWaiting()).toBe(false);
  await rmdir(obstacle);
  await until(isWaiting, waitMs);
});

test('a controller that is no longer active begins no further step, and continues when it is active again', async () => {
  await world.write('web.yaml', slowText);
  await world.start(simpleConfig('hosts: [h1]'));
  await until(isWaiting, waitMs);
  await lock(JSON.stringify(newLock(rival, Date.now(), 600_000)));
  await until(() => !isActive(), waitMs);
  await go(1);
  await until(() => current().length === 0, waitMs);
  expect(await world.profile(1, 'late')).toBeUndefined();
  await lock('');
  await until(isActive, waitMs);
  await hasStatus(world, 'web', 'synced');
  expect(await world.profile(1, 'late')).toMatchObject({ 'user.note': 'a' });
});
