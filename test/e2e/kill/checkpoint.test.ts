// Checkpoints and guest sockets after crashes: whenever the daemon is killed, a container either runs and has no checkpoint, or is
// stopped and reports correctly whether it has one. The guest socket of a running container answers.
import { existsSync, readdirSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { call, type Json } from '../../support/daemons/daemon.ts';
import { until } from '../../support/until.ts';
import { bundleDaemon, settle, startChild, type ChildDaemon } from '../../support/daemons/child-process.ts';
import { isLongRun } from '../../support/left-out.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const bundle = bundleDaemon();

const path = '/1.0/containers/c';
const requests: readonly (readonly [method: string, path: string, body: object])[] = [
  ['PUT', `${path}/state`, { action: 'stop', stateful: true }],
  ['PUT', `${path}/state`, { action: 'start', stateful: true }],
  ['POST', `${path}/snapshots`, { stateful: true }],
];

test('a daemon killed during a checkpoint or a restore leaves a complete one or none, and guest sockets answer again', async () => {
  const dir = tempFolder('gtye-');
  const home = join(dir, 'storage-pools/default/containers/c');
  let daemon: ChildDaemon | undefined;
  try {
    daemon = await startChild(bundle, dir, 'sim');
    await call(daemon, 'POST', '/1.0/storage-pools', { name: 'default', driver: 'dir' });
    const devices = { root: { type: 'disk', path: '/', pool: 'default' } };
    await settle(daemon, 'POST', '/1.0/containers', { name: 'c', source: { type: 'none' }, devices });
    await settle(daemon, 'PUT', `${path}/state`, { action: 'start' });
    for (let round = 0; round < (isLongRun ? 9 : 3); round++) {
      const [method, target, body] = requests[round % 3] ?? ['GET', path, {}];
      const { status } = (await call(daemon, 'GET', path)).metadata;
      // The action must be possible at all; the state after the last round may not allow it.
      if (status === 'Stopped' && round % 3 !== 1) {
        await settle(daemon, 'PUT', `${path}/state`, { action: 'start' });
      }
      const asked = call(daemon, method, target, body).catch(() => undefined);
      await sleep((round * 7) % 23);
      await daemon.kill('SIGKILL');
      await asked;
      daemon = await startChild(bundle, dir, 'sim');
      await expectWhole(daemon, home, round);
    }
  } finally {
    await daemon?.kill('SIGKILL');
    await rm(dir, { recursive: true, force: true });
  }
});

async function expectWhole(daemon: ChildDaemon, home: string, round: number): Promise<void> {
  const settled = async (): Promise<Json> => (await call(daemon, 'GET', path)).metadata;
  await until(async () => ['Running', 'Stopped'].includes((await settled()).status));
  const { status, stateful } = await settled();
  const files = readdirSync(home).filter((file) => file.startsWith('state'));
  expect([round, status, files]).toEqual([
    round,
    stateful === true ? 'Stopped' : status,
    stateful === true ? ['state'] : [],
  ]);
  const socketPath = join(home, 'rootfs/dev/lxd/sock');
  expect([round, existsSync(socketPath)]).toEqual([round, status !== 'Stopped']);
  if (status !== 'Stopped') expect((await call({ socketPath }, 'GET', '/1.0')).status).toBe(200);
  const snapshots = (await call(daemon, 'GET', `${path}/snapshots?recursion=1`)).metadata as Json[];
  const kept = join(home, '../../containers-snapshots/c');
  expect(snapshots.every((snapshot) => snapshot.stateful)).toBe(true);
  expect([round, existsSync(kept) ? readdirSync(kept).length : 0]).toEqual([round, snapshots.length]);
}
