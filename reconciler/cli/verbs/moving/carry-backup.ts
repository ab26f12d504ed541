// Carries a container or volume as a backup, which keeps the hard links and ACLs that the migration protocol loses.
import type { Readable } from 'node:stream';
import { backupsOf, importBackup, volumeBackupsOf, type BackupCalls } from '../../../../server/client/files/backups.ts';
import { isNotFound } from '../../../../server/client/client-error.ts';
import type { Client } from '../../../../server/client/client.ts';
import { fitBackup } from './fit-backup.ts';
import type { ContainerMove, VolumeMove } from './moves.ts';

interface Ends {
  readonly from: Client;
  readonly to: Client;
  readonly signal: AbortSignal;
}

/** The name of the temporary backup on the source. */
const backupName = 'gantry-move';

/** The container does not exist on the target, and is stopped on the source. */
export async function carryContainerBackup(ends: Ends, move: ContainerMove): Promise<void> {
  const { from, to, signal } = ends;
  const { name } = move;
  await throughBackup(ends, backupsOf(from.http, name), (source) =>
    importBackup(to.http, { source: fitBackup(source, move), name, allowHostAccess: true }, signal),
  );
}

export const carryVolumeBackup = (ends: Ends, { pool, name }: VolumeMove): Promise<void> =>
  throughBackup(ends, volumeBackupsOf(ends.from.http, pool, name), (source) =>
    importBackup(ends.to.http, { source, name, volumeIn: pool }, ends.signal),
  );

async function throughBackup<B, C>(
  { from, to, signal }: Ends,
  backups: BackupCalls<B, C>,
  take: (source: Readable) => ReturnType<typeof importBackup>,
): Promise<void> {
  const remove = (): Promise<unknown> =>
    from.operations
      .run(() => backups.delete(backupName, signal), signal)
      .catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
  // An earlier run that was killed left it.
  await remove();
  const body = { name: backupName, compression_algorithm: 'none' };
  await from.operations.run(() => backups.create(body as C, signal), signal);
  try {
    const { body: source } = await backups.open(backupName, signal);
    await to.operations.run(() => take(source), signal);
  } finally {
    await remove();
  }
}
