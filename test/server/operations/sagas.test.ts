// Every saga of the table: proved, run only when it is in the table, and in a file of its own name.
import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkpointProofs } from '../../support/sagas/checkpoint-proofs.ts';
import { hostProofs } from '../../support/sagas/host-proofs.ts';
import { moveProofs } from '../../support/sagas/move-proofs.ts';
import { proveSagas, type SagaProofs } from '../../support/sagas/prove-saga.ts';
import { storageProofs } from '../../support/sagas/storage-proofs.ts';
import { sagaTable, type SagaDeps } from '../../../server/daemon/compose/saga-table.ts';
import { Sagas, type SagaTable } from '../../../server/operations/saga.ts';
import { Records } from '../../../server/records/records.ts';
import { openMemoryStore } from '../../../server/store/memory/memory.ts';
import { systemClock } from '../../../server/lib/clock.ts';
import { silentLog } from '../../../server/lib/log.ts';

const proofs: SagaProofs = {
  ...hostProofs,
  ...storageProofs,
  ...checkpointProofs,
  'container-create': [...hostProofs['container-create'], ...storageProofs['container-create']],
  'snapshot-create': [...storageProofs['snapshot-create'], ...checkpointProofs['snapshot-create']],
  ...moveProofs,
  'container-store-state': {
    provedIn: 'test/server/operations/checkpoint-sagas.test.ts',
    because: 'a failure after the container has ended cannot bring its memory back',
  },
};

proveSagas(proofs);

describe('The table of sagas', () => {
  const unused = new Proxy({}, { get: () => unused }) as SagaDeps;
  const table = sagaTable(unused);
  const services = 'server/services';
  const sources = readdirSync(services, { recursive: true, encoding: 'utf8' })
    .filter((file) => file.endsWith('.ts'))
    .map((file) => join(services, file));
  const kinds = Object.keys(table);
  const isSaga = (file: string): boolean => kinds.includes(basename(file, '.ts'));
  const makeSagas = async (given: SagaTable): Promise<Sagas> =>
    new Sagas({ records: await Records.open(openMemoryStore()), clock: systemClock(), log: silentLog, table: given });

  test('has a file for every kind, named after it', () => {
    const files = sources.filter(isSaga).map((file) => basename(file, '.ts'));
    expect(files.toSorted()).toEqual(kinds.toSorted());
    for (const [kind, saga] of Object.entries(table)) expect(saga.kind).toBe(kind);
  });

  test('is where every saga is: no other file of the services makes one', () => {
    expect(sources.filter((file) => !isSaga(file) && readFileSync(file, 'utf8').includes('onRestart:'))).toEqual([]);
  });

  test('refuses to run a saga that is not in it, before anything is stored or done', async () => {
    const { 'pool-create': poolCreate, ...others } = table;
    const sagas = await makeSagas(others);
    await expect(sagas.run(poolCreate, { name: 'p', document: undefined as never })).rejects.toThrow(
      'The saga pool-create is not in the table of sagas',
    );
  });

  test('a table with a saga under the kind of another is refused at start', async () => {
    await expect(makeSagas({ 'pool-create': table['pool-delete'] })).rejects.toThrow(
      'The saga pool-delete is in the table of sagas as pool-create',
    );
  });

  test('names a test file for each saga that the proofs do not fit', () => {
    for (const proof of Object.values(proofs)) {
      if ('provedIn' in proof) expect(readFileSync(proof.provedIn, 'utf8')).toContain('test(');
    }
  });
});
