// What the source of a move does after the other member has the container: a failure here changes nothing about that.
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test, vi } from 'vitest';
import { systemClock } from '../../../../server/lib/clock.ts';
import { silentLog } from '../../../../server/lib/log.ts';
import { Sagas } from '../../../../server/operations/saga.ts';
import { handOver } from '../../../../server/services/cluster/moves/hand-over.ts';
import { ownedBy } from '../../../../server/services/shared/owned-records.ts';
import { leave, leaveContainerSaga } from '../../../../server/services/cluster/moves/sagas/container-leave.ts';
import { movedContainer, moveWorld, takeAway } from '../../../support/sagas/move-proofs.ts';

const params = { name: 'c', uuid: 'c-uuid', pool: 'p' };

async function world() {
  const at = await moveWorld();
  onTestFinished(() => at.cleanUp());
  const { records } = at.one;
  const table = { 'container-leave': leaveContainerSaga(at.one) };
  const sagas = new Sagas({ records, clock: systemClock(), log: silentLog, table });
  onTestFinished(() => sagas.close());
  return { ...at, sagas, deps: { ...at.one, sagas } };
}

const share = (at: Awaited<ReturnType<typeof world>>) =>
  at.one.records.commit((changes) =>
    changes.put('pools', 'p', {
      v: 1,
      description: '',
      driver: 'dir',
      config: { 'source.shared': 'true' },
      lifecycle: 'ready',
    }),
  );

test('A move succeeds although its source cannot be removed yet, which is done later', async () => {
  const at = await world();
  const busy = vi.spyOn(at.one.pools, 'deleteVolume').mockRejectedValue(new Error('the volume is busy'));
  await leave(at.deps, params, () => takeAway(at));
  expect(at.one.records.containers.has('c')).toBe(false);
  expect(await at.one.pools.listVolumes('p')).toHaveLength(1);
  busy.mockRestore();
  await at.sagas.finishUndo('containers', 'c').catch(() => {});
  expect(await at.one.pools.listVolumes('p')).toEqual([]);
  expect(at.one.records.sagas.size).toBe(0);
});

test('A move fails when the container stays', async () => {
  const at = await world();
  await expect(leave(at.deps, params, () => Promise.reject(new Error('no room')))).rejects.toThrow('no room');
  expect(at.one.records.containers.has('c')).toBe(true);
});

test('The source of a move within a shared pool leaves the files of a container that was made at their place since', async () => {
  const at = await world();
  await share(at);
  await leave(at.deps, params, async () => {
    await takeAway(at);
    await at.two.records.commit((changes) => changes.put('containers', 'c', { ...movedContainer, uuid: 'another' }));
    await at.settle();
  });
  expect(await at.one.pools.listVolumes('p')).toEqual([{ type: 'container', name: 'c' }]);
});

const toTwo = { member: { number: 2, name: 'two' }, name: 'c', pool: 'p', withoutSnapshots: false } as never;
const clustered = (at: Awaited<ReturnType<typeof world>>): never =>
  ({
    ...at.deps,
    cluster: { members: { here: 1 }, readBarrier: () => at.settle().then(() => true) },
  }) as never;

test('A hand-over is refused when the records are too long for one transaction', async () => {
  const at = await world();
  await share(at);
  const { document } = at.one.records.snapshots.get('c-uuid/s')!;
  const config = { 'user.notes': 'x'.repeat(100_000) };
  await at.one.records.commit((changes) => {
    for (let n = 0; n < 6; n++) changes.put('snapshots', `c-uuid/long-${n}`, { ...document, config });
  });
  await expect(handOver(clustered(at), 'c', toTwo)).rejects.toThrow('delete some snapshots first');
  expect(at.one.records.containers.has('c')).toBe(true);
  expect(ownedBy(at.one.records, 'snapshots', 'c-uuid')).toHaveLength(7);
});

test('A hand-over that a crash cuts off after its transaction is finished by the next daemon: no log is left', async () => {
  const at = await world();
  await share(at);
  await writeFile(join(at.one.logsDir, 'c', 'lxc.log'), '');
  const forget = vi.spyOn(at.one.runtime, 'forget').mockRejectedValue(new Error('the daemon is killed'));
  await handOver(clustered(at), 'c', toTwo);
  await at.sagas.close();
  forget.mockRestore();
  const table = { 'container-leave': leaveContainerSaga(at.one) };
  const next = new Sagas({ records: at.one.records, clock: systemClock(), log: silentLog, table });
  await next.recover();
  expect(await readdir(at.one.logsDir)).toEqual([]);
  expect(at.two.records.containers.has('c')).toBe(true);
  expect(await at.one.pools.listVolumes('p')).toHaveLength(1);
  expect(at.one.records.sagas.size).toBe(0);
});
