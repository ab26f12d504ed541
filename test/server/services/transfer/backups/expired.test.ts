// The task that deletes expired backups, while clients change the backups that it has found.
import { expect, test } from 'vitest';
import { EventHub } from '../../../../../server/events/hub.ts';
import { systemClock } from '../../../../../server/lib/clock.ts';
import { KeyedMutex } from '../../../../../server/lib/keyed-mutex.ts';
import { silentLog } from '../../../../../server/lib/log.ts';
import { Operations } from '../../../../../server/operations/manager.ts';
import type { BackupDocument } from '../../../../../server/records/documents.ts';
import { Records } from '../../../../../server/records/records.ts';
import { lockOf } from '../../../../../server/services/shared/find-container.ts';
import { Backups } from '../../../../../server/services/transfer/backups/backups.ts';
import type { BackupDeps } from '../../../../../server/services/transfer/backups/write-backup.ts';
import { openMemoryStore } from '../../../../../server/store/memory/memory.ts';
import { containerRecord } from '../../../../support/fakes/records.ts';

const container = containerRecord({ uuid: 'u' });
const backup = (file: string, expiresAt: string): BackupDocument => ({
  v: 1,
  file,
  createdAt: '2026-01-01T00:00:00Z',
  expiresAt,
  containerOnly: false,
  optimizedStorage: false,
  sizeBytes: 1,
  lifecycle: 'ready',
});

const expired = '2026-02-01T00:00:00Z';

async function world() {
  const records = await Records.open(openMemoryStore());
  const locks = new KeyedMutex();
  const clock = systemClock();
  const events = new EventHub(clock);
  const operations = new Operations({ clock, events, log: silentLog });
  const backups = new Backups({ records, locks, operations, events, dir: '/nonexistent' } as unknown as BackupDeps);
  return { records, locks, operations, backups };
}

test('a backup that a client makes under the name of an expired one, while the task waits for the container, stays', async () => {
  const { records, locks, operations, backups } = await world();
  await records.commit((changes) => {
    changes.put('containers', 'c', container);
    for (const name of ['again', 'gone', 'old']) changes.put('backups', `u/${name}`, backup(name, expired));
  });
  const run = backups.tasks()[0]?.run(new Date('2026-03-01T10:00:00Z'), new AbortController().signal);
  await locks.run(lockOf('c'), () =>
    records.commit((changes) => {
      changes.put('backups', 'u/again', backup('other', '2099-01-01T00:00:00Z'));
      changes.delete('backups', 'u/gone');
    }),
  );
  await run;
  expect(records.backups.list().map(({ name, document }) => [name, document.file])).toEqual([['u/again', 'other']]);
  expect(operations.list().map(({ status, err }) => [status, err])).toEqual([
    ['Success', ''],
    ['Success', ''],
    ['Success', ''],
  ]);
});

test('backups of other containers are deleted although one container is deleted while the task runs', async () => {
  const { records, locks, backups } = await world();
  await records.commit((changes) => {
    for (const name of ['a', 'b', 'c']) {
      changes.put('containers', name, { ...container, uuid: name });
      changes.put('backups', `${name}/old`, backup(name, expired));
    }
  });
  const run = backups.tasks()[0]?.run(new Date('2026-03-01T10:00:00Z'), new AbortController().signal);
  await locks.run(lockOf('a'), () =>
    records.commit((changes) => {
      changes.delete('containers', 'b');
      changes.delete('backups', 'b/old');
    }),
  );
  await run;
  expect(records.backups.list()).toEqual([]);
});
