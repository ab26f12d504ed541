// A custom volume in another pool: its record, files, snapshots and the devices that name it.
import { expect, onTestFinished, test } from 'vitest';
import { systemClock } from '../../../server/lib/clock.ts';
import { silentLog } from '../../../server/lib/log.ts';
import { Sagas } from '../../../server/operations/saga.ts';
import { moveVolumeSaga } from '../../../server/services/storage/sagas/volume-move.ts';
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
