// Checkpoints of containers (memory, processes) in the directory `state` beside their root file system: made by a stateful stop, used by a
// stateful start, removed by any other start. start-stop.ts decides when.
import { mkdir, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { errors } from '../../../api/errors.ts';
import type { RuntimeDriver, Checkpoints } from '../../../drivers/runtime/driver.ts';
import type { ContainerDeps } from '../deps.ts';

/** The caller holds the container's lock, so neither changes. */
export interface CheckpointOwner {
  readonly name: string;
  readonly pool: string;
}

/** Part of the container's volume: copied, renamed, counted and deleted with it. */
export const checkpointDirOf = ({ pools }: Pick<ContainerDeps, 'pools'>, { name, pool }: CheckpointOwner): string =>
  join(pools.volumePath(pool, { type: 'container', name }), 'state');

/** Throws badRequest with the reason if this host cannot do it. */
export async function needCheckpoints(
  runtime: Pick<RuntimeDriver, 'checkpoints' | 'name'>,
  what: string,
): Promise<Checkpoints> {
  const { checkpoints } = runtime;
  const ability = (await checkpoints?.available()) ?? { ok: false, reason: `the runtime ${runtime.name} cannot` };
  if (checkpoints !== undefined && ability.ok) return checkpoints;
  const reason = ability.ok ? '' : ability.reason;
  throw errors.badRequest(`${what} is not possible: this host cannot checkpoint containers: ${reason}`);
}

/** Makes it empty and private. Pre-dumps beside it stay only for a checkpoint that builds on `previous`. */
export async function makeCheckpointDir(dir: string, previous?: string): Promise<void> {
  await (previous === undefined ? removeCheckpoint(dir) : removeTree(dir));
  await mkdir(dir, { mode: 0o700 });
}

const removeTree = (dir: string): Promise<void> => rm(dir, { recursive: true, force: true });

/** Removes it and the pre-dumps beside it. Idempotent. */
export async function removeCheckpoint(dir: string): Promise<void> {
  await removeTree(dir);
  await removeRounds(dirname(dir));
}

const roundPrefix = 'state-round-';

/** A memory pre-dump is beside the checkpoint, so that links between them survive a transfer. */
export const roundDirOf = (volumeDir: string, round: number): string => join(volumeDir, `${roundPrefix}${round}`);

/** Idempotent. */
export async function removeRounds(volumeDir: string): Promise<void> {
  const entries = await readdir(volumeDir).catch(() => []);
  const rounds = entries.filter((entry) => entry.startsWith(roundPrefix));
  for (const round of rounds) await removeTree(join(volumeDir, round));
}

/** A name that the log endpoints accept (spec 4.6). */
export const checkpointLogName = (kind: 'dump' | 'restore', nowMs: number): string =>
  `snapshot_${kind}_${new Date(nowMs).toISOString().replaceAll(':', '-')}.log`;
