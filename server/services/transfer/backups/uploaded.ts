// Makes a container or volume of an uploaded backup: takes the file over, and deletes it in any case.
import { rm } from 'node:fs/promises';
import { isTrue } from '../../../api/container/container-config.ts';
import { errors } from '../../../api/errors.ts';
import type { Operation } from '../../../api/operation.ts';
import type { Operations } from '../../../operations/manager.ts';
import type { OperationHandle } from '../../../operations/running-operation.ts';
import type { Records } from '../../../records/records.ts';
import { settingOf } from '../../shared/settings.ts';
import type { Pools } from '../../storage/pools.ts';
import type { BackupIndex } from './index-yaml.ts';
import { readIndex } from './tarball-reader.ts';

export interface BackupUpload {
  readonly path: string;
  /** Overrides the backup's own. */
  readonly pool?: string;
  readonly name?: string;
  /** The caller accepts that it brings access to the host. */
  readonly allowHostAccess?: boolean;
}

interface Restoring {
  readonly resources: Readonly<Record<string, readonly string[]>>;
  readonly project?: string;
  readonly run: (handle: OperationHandle, signal: AbortSignal) => Promise<void>;
}

/** `judge`: checks the index before the operation starts. */
export async function takeUpload(
  { operations }: { readonly operations: Operations },
  { path }: BackupUpload,
  judge: (index: BackupIndex) => Promise<Restoring> | Restoring,
  signal: AbortSignal,
): Promise<Operation> {
  try {
    const { run, ...request } = await judge(await readIndex(path, signal));
    return operations.start({
      description: 'Restoring backup',
      ...request,
      mayCancel: true,
      run: async (handle, aborted) => {
        try {
          await run(handle, aborted);
        } finally {
          await rm(path, { force: true });
        }
      },
    });
  } catch (error) {
    await rm(path, { force: true });
    throw error;
  }
}

export const allowsHostAccess = (records: Records, { allowHostAccess }: BackupUpload): boolean =>
  allowHostAccess === true || isTrue(settingOf(records, 'backups.allow_host_access'));

/** Throws AppError badRequest. */
export function checkForm(pools: Pools, index: BackupIndex, pool: string): void {
  const { driver } = pools.use(pool);
  if (index.optimized && driver.capabilities.nativeStreams !== index.backend)
    throw errors.badRequest(
      `The backup has the form of the storage driver ${index.backend}; the pool ${pool} is of driver ${driver.name}: ` +
        `name a pool of driver ${index.backend}, or export it without optimized storage`,
    );
}
