// A controller that loses its lock while it changes a host: running steps end, and no further one begins.
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
  world = await openControllerWorld(1);
});
afterEach(async () => {
  ownLocks.delete(rival);
  await world.close();
});

/** An empty text releases the lock of the controller. */
const lock = async (text: string): Promise<unknown> =>
  world.daemons[0]?.client.patchServer({ config: { [lockKey('controller-main')]: text } });
const isActive = (): boolean => world.engine.overview().controller.isActive;

test('a controller that is no longer active begins no further step, and continues when it is active again', async () => {
  await world.write(
    'web.yaml',
    `kind: storage_pool
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
`,
  );
  await world.start(simpleConfig());
  const current = (): readonly string[] =>
    world.engine.operations().flatMap(({ hosts }) => hosts.flatMap((host) => host.current));
  await until(() => current().some((step) => step.includes('container/slow#wait')), waitMs);
  await lock(JSON.stringify(newLock(rival, Date.now(), 600_000)));
  await until(() => !isActive(), waitMs);
  const [daemon] = world.daemons;
  if (daemon === undefined) throw new Error('there is no host');
  await filesOf(daemon.client.http, 'slow').write('/go', Readable.from(['go']));
  await until(() => current().length === 0, waitMs);
  expect(await world.profile(1, 'late')).toBeUndefined();
  await lock('');
  await until(isActive, waitMs);
  await hasStatus(world, 'web', 'synced');
  expect(await world.profile(1, 'late')).toMatchObject({ 'user.note': 'a' });
});
