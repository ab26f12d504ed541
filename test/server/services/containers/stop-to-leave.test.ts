// A container that leaves its member is stopped within its time, or by force; and what fails on the way is told.
import { expect, test } from 'vitest';
import { silentLog } from '../../../../server/lib/log.ts';
import { stopToLeave } from '../../../../server/services/containers/power/host-shutdown.ts';
import type { StateDeps } from '../../../../server/services/containers/shared/state-deps.ts';
import { goOnOrRemove } from '../../../../server/services/transfer/migration/live.ts';
import { daemonCaller } from '../../../../server/services/shared/caller.ts';

const never = new AbortController().signal;

function running(ephemeral: boolean, isDeaf: boolean) {
  const [logged, emitted]: [string[], string[]] = [[], []];
  let status = 'running';
  const log = (text: string): void => void logged.push(text);
  const entry = { name: 'web', document: { lifecycle: 'ready', ephemeral, uuid: 'u', pool: 'p', config: {} } };
  const none = { list: () => [], has: () => false };
  const deps = {
    records: {
      containers: { get: () => entry },
      snapshots: none,
      backups: none,
      networks: none,
      retry: () => Promise.resolve(),
    },
    view: {
      expanded: () => ({ config: {}, devices: {} }),
      during: (_n: string, _s: number, run: () => unknown) => run(),
    },
    runtime: {
      probe: () => ({ status }),
      stop: async (_name: string, { force }: { force: boolean }) => {
        if (isDeaf && !force) throw new Error('it did not stop in 30 s');
        status = 'stopped';
      },
    },
    events: { lifecycle: (action: string) => void emitted.push(action) },
    hosts: { refresh: () => Promise.resolve() },
    shutdowns: { isPending: () => false, takeOver: () => {} },
    locks: { unshared: () => Promise.resolve() },
    sagas: { run: () => Promise.reject(new Error('the pool is busy')) },
    log: { ...silentLog, info: log, error: log },
  } as unknown as StateDeps;
  return { deps, logged, emitted, status: () => status };
}

test('a container that does not stop within its time is stopped by force, and the log says why', async () => {
  const { deps, logged, emitted, status } = running(false, true);
  await stopToLeave(deps, daemonCaller, 'web', false, never);
  expect([status(), emitted]).toEqual(['stopped', ['container-stopped']]);
  expect(logged).toEqual(['web is stopped by force: it did not stop in 30 s']);
});

test('an ephemeral container that has stopped and cannot be deleted is an error', async () => {
  const { deps, emitted } = running(true, false);
  await expect(stopToLeave(deps, daemonCaller, 'web', false, never)).rejects.toThrow('the pool is busy');
  expect(emitted).toEqual(['container-shutdown']);
});

test('a container that cannot be restored at its target says why, also if it cannot be removed again', async () => {
  const { deps, logged } = running(false, false);
  await expect(goOnOrRemove(deps, daemonCaller, 'web')).rejects.toThrow('already running');
  expect(logged).toEqual([expect.stringMatching(/^Removing web, which could not be restored, failed/)]);
});
