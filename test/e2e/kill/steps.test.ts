// kill -9 at a random step of each action of a daemon on a running container: the next daemon finds the container complete, or stopped
// without leftovers. All steps are tried by `npm run faults -- kill`.
import { readdirSync } from 'node:fs';
import { readFile, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { LxcPaths } from '../../../server/drivers/runtime/lxc-paths.ts';
import { actionNames, countEffects, dieAt } from '../../faults/kill/actions.ts';
import { DoomedDaemon } from '../../faults/kill/doomed-daemon.ts';
import { deathAt } from '../../faults/kill/suite.ts';
import { settled } from '../../faults/kill/usable.ts';
import { closeWorld, containerPath, done, openWorld, type KillWorld } from '../../faults/kill/world.ts';
import { call, makeDaemon, realRuntimeMissing } from '../../support/daemons/daemon.ts';
import { bundleDaemon, read } from '../../support/daemons/child-process.ts';
import { buildBusyboxImage } from '../../support/images/busybox.ts';
import { isLongRun } from '../../support/left-out.ts';
import { seededRandom } from '../../support/random.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const random = seededRandom();
const missing = await realRuntimeMissing();
const bundle = bundleDaemon();

describe.each(['sim', 'lxc'] as const)(
  'a daemon on the runtime %s that is killed at a step of an action',
  (runtime) => {
    const isMissing = runtime === 'lxc' && missing !== undefined;
    let world: KillWorld;
    beforeAll(async () => {
      if (!isMissing) world = await openWorld(bundle.entry, runtime, 't');
    });
    afterAll(async () => {
      if (!isMissing) await closeWorld(world);
    });

    // Every second one on real containers, the others on the simulation; all on both with GANTRY_LONG=1.
    const isReal = (index: number): boolean => missing === undefined && index % 2 === 0;
    const tried = actionNames.filter((_, index) => isLongRun || isReal(index) === (runtime === 'lxc'));
    test.skipIf(isMissing).each(tried)(
      '%s: the next daemon has the container complete, or stopped without leftovers',
      async (name) => {
        const count = await countEffects(world, name);
        expect(count).toBeGreaterThan(0);
        const effect = 1 + Math.floor(random.next() * count);
        const outcome = await dieAt(world, name, deathAt(effect, random));
        expect({ ...outcome, seed: random.seed }).toMatchObject({ wrong: [], left: [] });
      },
      60_000,
    );
  },
);

describe.skipIf(missing !== undefined)('a running container whose start record was lost', () => {
  test('keeps running with its guest socket, and reports that device changes need a restart', async () => {
    const dir = tempFolder('gtkl-');
    const daemon = new DoomedDaemon(bundle, dir, 'lxc');
    try {
      const first = await daemon.start();
      await done(first, 'POST', '/1.0/storage-pools', { name: 'default', driver: 'dir' });
      const built = await buildBusyboxImage(join(dir, 'image-source'), { busybox: { dhcp: false } });
      await done(first, 'POST', '/1.0/images', await readFile(built.metadataPath));
      const source = { type: 'image', fingerprint: built.fingerprint };
      const devices = { root: { type: 'disk', path: '/', pool: 'default' } };
      await done(first, 'POST', '/1.0/containers', { name: 'c', source, devices });
      await done(first, 'PUT', `${containerPath}/state`, { action: 'start' });
      await daemon.kill();
      await rm(new LxcPaths(await realpath(join(dir, 'runtime'))).stateFile('c'));
      const second = await daemon.start();
      expect((await settled(second, 'c')).status).toBe('Running');
      expect(await guestSockets(dir)).toHaveLength(1);
      const plug = { devices: { ...devices, extra: { type: 'nic', nictype: 'p2p', name: 'eth5' } } };
      const refused = await call(second, 'PATCH', containerPath, plug);
      expect([refused.status, refused.bytes.toString()]).toEqual([400, expect.stringMatching(/extra.*Restart it/)]);
      expect(Object.keys((await read(second, containerPath)).devices as object)).toEqual(['root']);
      await done(second, 'PUT', `${containerPath}/state`, { action: 'restart', force: true });
      expect((await call(second, 'PATCH', containerPath, plug)).status).toBe(200);
    } finally {
      await daemon.kill();
      await (await makeDaemon({ runtime: 'lxc', dir })).cleanUp();
    }
  });
});

/** Sockets with a listener. */
async function guestSockets(dir: string): Promise<readonly string[]> {
  const sockets = readdirSync(join(dir, 'guests')).map((uuid) => join(dir, 'guests', uuid, 'sock'));
  const answers = await Promise.all(
    sockets.map((socketPath) => call({ socketPath }, 'GET', '/1.0').catch(() => undefined)),
  );
  return sockets.filter((_socket, index) => answers[index] !== undefined);
}
