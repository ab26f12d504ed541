// Measures new snapshots where a disk limit counts them: the full size of their files, even if shared with the volume, since they stay when
// the volume changes.
import { projectOf } from '../../api/project/project-names.ts';
import { setLimits } from '../../api/project/project-limits.ts';
import type { SnapshotRef, VolumeRef } from '../../drivers/storage/driver.ts';
import { keptToRead } from '../../lib/confined.ts';
import { exec } from '../../lib/exec.ts';
import type { Records } from '../../records/records.ts';
import { filesAt, type Pools } from './pools.ts';

export interface MeasureDeps {
  readonly records: Pick<Records, 'projects'>;
  readonly pools: Pick<Pools, 'use'>;
}

const dayMs = 86_400_000;
/** A snapshot without files still counts as its file system overhead, so that none is free. */
const leastBytes = 16_384;

/** For the record of the snapshot, whose files exist. Empty: no limit counts it. */
export async function sizeOf(
  deps: MeasureDeps,
  poolOf: string,
  snapshot: SnapshotRef,
  signal: AbortSignal,
): Promise<{ readonly sizeBytes?: number }> {
  const config = deps.records.projects.get(projectOf(snapshot.volume.name))?.document.config ?? {};
  if (!setLimits(config).some((key) => key.startsWith('limits.disk'))) return {};
  const { driver, pool } = deps.pools.use(poolOf);
  const path = driver.snapshotPath(pool, snapshot);
  const { stdout } = await filesAt(driver, path, () =>
    exec(
      ['du', '--summarize', '--block-size=1', '--', path],
      { timeoutMs: dayMs, confinement: { reads: [path], writes: [], keeps: keptToRead } },
      signal,
    ),
  );
  return { sizeBytes: Math.max(leastBytes, Number(stdout.split('\t')[0])) };
}

/** Snapshots that arrived with a volume from elsewhere. */
export async function measured<T extends { readonly name: string; readonly document: { readonly sizeBytes?: number } }>(
  deps: MeasureDeps,
  { pool, volume }: { readonly pool: string; readonly volume: VolumeRef },
  snapshots: readonly T[],
  signal: AbortSignal,
): Promise<readonly T[]> {
  const result: T[] = [];
  for (const each of snapshots) {
    const known = each.document.sizeBytes !== undefined;
    const size = known ? {} : await sizeOf(deps, pool, { volume, snapshot: each.name }, signal);
    result.push({ ...each, document: { ...each.document, ...size } });
  }
  return result;
}
