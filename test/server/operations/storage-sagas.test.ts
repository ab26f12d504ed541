// Moves to another pool: records, files, snapshots and the devices that name a volume, also when the deletion of the original fails.
import { expect, onTestFinished, test, vi } from 'vitest';
import { systemClock } from '../../../server/lib/clock.ts';
import { silentLog } from '../../../server/lib/log.ts';
import { Sagas } from '../../../server/operations/saga.ts';
import { moveVolumeSaga } from '../../../server/services/storage/sagas/volume-move.ts';
import { moveContainerSaga } from '../../../server/services/containers/move/container-move.ts';
import { restoreSnapshotSaga } from '../../../server/services/containers/snapshots/snapshot-restore.ts';
import { refreshContainerSaga } from '../../../server/services/transfer/migration/sagas/container-refresh.ts';
import { createVolumeSaga } from '../../../server/services/storage/sagas/volume-create.ts';
import { createVolumeSnapshotSaga } from '../../../server/services/storage/sagas/volume-snapshot-create.ts';
import { storageWorld, volumeMove } from '../../support/sagas/storage-proofs.ts';

test('A moved volume has its snapshots in the new pool, is gone from the old one, and devices name its new place', async () => {
  const at = await storageWorld();
  onTestFinished(() => at.cleanUp());
  const { records, pools } = at;
  const saga = moveVolumeSaga(at);
  const sagas = new Sagas({ records, clock: systemClock(), log: silentLog, table: { 'volume-move': saga } });
  await sagas.run(saga, volumeMove);
  expect([records.volumes.has('p/v'), records.volumes.has('q/w')]).toEqual([false, true]);
  expect(records.containers.get('c')?.document.devices['data']).toMatchObject({ pool: 'q', source: 'w' });
  const { driver, pool } = pools.use('q');
  expect(await pools.listVolumes('q')).toEqual([{ type: 'custom', name: 'w' }]);
  expect(await driver.listSnapshots(pool, { type: 'custom', name: 'w' })).toEqual(['s']);
  expect(await pools.listVolumes('p')).toEqual([{ type: 'container', name: 'c' }]);
  expect(records.sagas.size).toBe(0);
});

test.each(['custom', 'container'] as const)(
  'A move of a %s volume whose original is deleted in part is finished: the copy has the only snapshots',
  async (type) => {
    const at = await storageWorld();
    onTestFinished(() => at.cleanUp());
    const table = {
      'volume-move': moveVolumeSaga(at),
      'container-move': moveContainerSaga({ ...at, logsDir: at.backupsDir }),
    };
    const sagas = new Sagas({ records: at.records, clock: systemClock(), log: silentLog, table });
    const original = at.pools.deleteVolume.bind(at.pools);
    let failures = 0;
    at.pools.deleteVolume = async (poolOf, volume) => {
      if (poolOf !== 'p' || (failures += 1) > 1) return original(poolOf, volume);
      const { driver, pool } = at.pools.use(poolOf);
      await driver.deleteSnapshot(pool, { volume, snapshot: 's' });
      throw new Error('the volume is busy');
    };
    const places = { from: { name: 'c', pool: 'p' }, to: { name: 'w', pool: 'q' }, snapshots: ['s'] };
    const moving =
      type === 'custom' ? sagas.run(table['volume-move'], volumeMove) : sagas.run(table['container-move'], places);
    await expect(moving).rejects.toThrow('the volume is busy');
    await (type === 'custom' ? sagas.finishUndo('volumes', 'p/v') : sagas.finishUndo('containers', 'c'));
    const { driver, pool } = at.pools.use('q');
    expect(await driver.listSnapshots(pool, { type, name: 'w' })).toEqual(['s']);
    expect([at.records.volumes.has('q/w'), at.records.containers.has('w')]).toEqual([
      type === 'custom',
      type === 'container',
    ]);
    expect(at.records.sagas.size).toBe(0);
  },
);

test('Files without a record, which refuse a creation, survive a crash before its intent is removed', async () => {
  const at = await storageWorld();
  onTestFinished(() => at.cleanUp());
  const { records, pools } = at;
  const table = { 'volume-create': createVolumeSaga(at), 'volume-snapshot-create': createVolumeSnapshotSaga(at) };
  const start = (): Sagas => new Sagas({ records, clock: systemClock(), log: silentLog, table });
  const [volume, document] = [{ pool: 'p', name: 'v' }, records.volumes.get('p/v')?.document];
  const kept = records.volumeSnapshots.get('v-uuid/s')?.document;
  if (document === undefined || kept === undefined) throw new Error('no volume');
  const retry = records.retry.bind(records);
  const crashing = async (begun: (sagas: Sagas) => Promise<void>): Promise<void> => {
    let writes = 0;
    records.retry = (build) => ((writes += 1) > 1 ? Promise.reject(new Error('the power is out')) : retry(build));
    const sagas = start();
    await expect(begun(sagas)).rejects.toThrow('already exists');
    await sagas.close();
    records.retry = retry;
    await start().recover();
  };
  await records.commit((changes) => changes.delete('volumeSnapshots', 'v-uuid/s'));
  const snapshot = { volume, uuid: 'v-uuid', snapshot: 's', document: kept };
  await crashing((sagas) => sagas.run(table['volume-snapshot-create'], snapshot));
  await records.commit((changes) => changes.delete('volumes', 'p/v'));
  await crashing((sagas) => sagas.run(table['volume-create'], { volume, document, source: { kind: 'empty' } }));
  const { driver, pool } = pools.use('p');
  const ref = { type: 'custom', name: 'v' } as const;
  expect([await driver.hasVolume(pool, ref), await driver.listSnapshots(pool, ref)]).toEqual([true, ['s']]);
});

test.each([true, false])(
  'A restore that is cut off has files and config of one state: %s that the files are back',
  async (isBack) => {
    const at = await storageWorld();
    onTestFinished(() => at.cleanUp());
    const { records, pools } = at;
    const saga = restoreSnapshotSaga(at);
    const sagas = new Sagas({ records, clock: systemClock(), log: silentLog, table: { 'snapshot-restore': saga } });
    const { driver } = pools.use('p');
    const cut = new AbortController();
    const restore = driver.restoreSnapshot.bind(driver);
    vi.spyOn(driver, 'restoreSnapshot').mockImplementation(async (...all) => {
      cut.abort(new Error('the daemon stops'));
      if (!isBack) cut.signal.throwIfAborted();
      const [pool, snapshot] = all;
      await restore(pool, snapshot, new AbortController().signal);
    });
    const before = records.containers.get('c')!.document;
    const document = { ...before, description: 'of the snapshot' };
    const params = { container: 'c', uuid: 'c-uuid', pool: 'p', snapshot: 's', document };
    await expect(sagas.run(saga, params, { signal: cut.signal })).rejects.toThrow('the daemon stops');
    expect(records.containers.get('c')?.document.description).toBe(isBack ? 'of the snapshot' : '');
  },
);

test('A refresh that is cut off after its files has the record of their owners', async () => {
  const at = await storageWorld();
  onTestFinished(() => at.cleanUp());
  const { records } = at;
  const files = 'volatile.last_state.idmap';
  const shifted = [{ Isuid: true, Isgid: true, Hostid: 100_000, Nsid: 0, Maprange: 65_536 }];
  await records.commit((changes) => {
    const { document } = records.containers.get('c')!;
    changes.put('containers', 'c', { ...document, config: { [files]: JSON.stringify(shifted) } });
  });
  const cut = new AbortController();
  const saga = refreshContainerSaga(at, { fill: async () => cut.abort(new Error('the daemon stops')) });
  const sagas = new Sagas({ records, clock: systemClock(), log: silentLog, table: { 'container-refresh': saga } });
  const params = { name: 'c', uuid: 'c-uuid', pool: 'p', added: [] };
  await expect(sagas.run(saga, params, { signal: cut.signal })).rejects.toThrow('the daemon stops');
  expect(records.containers.get('c')?.document.config[files]).toBe('[]');
});
