// Copies the memory of a running container in rounds before its checkpoint, which shortens its pause (migration.incremental.memory). The
// rounds are stored in the container's volume and sent with its files while it still runs.
import { mkdir } from 'node:fs/promises';
import { isTrue } from '../../../api/container/container-config.ts';
import type { ConfigMap } from '../../../api/schema/common-schemas.ts';
import type { Checkpoints } from '../../../drivers/runtime/driver.ts';
import type { Log } from '../../../lib/log.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import { removeRounds, roundDirOf } from '../../containers/shared/checkpoint.ts';

export interface RoundSettings {
  /** Percentage of memory that must be copied already. */
  readonly goal: number;
  readonly iterations: number;
}

export interface MemoryRounds {
  /** Resolves to the directory of the last round, on which the checkpoint builds; undefined if there is none. */
  copy(signal: AbortSignal): Promise<string | undefined>;
  /** Idempotent. */
  remove(): Promise<void>;
}

/** Undefined: all memory is copied at once, while the container is paused. */
export function roundSettings(config: ConfigMap): RoundSettings | undefined {
  if (!isTrue(config['migration.incremental.memory'])) return undefined;
  const number = (key: string, fallback: number): number => {
    const value = config[`migration.incremental.memory.${key}`] ?? '';
    return value === '' ? fallback : Number(value);
  };
  return { goal: number('goal', 70), iterations: number('iterations', 10) };
}

/** Another round follows while the goal is not reached, rounds are left, and the last one still improved the percentage. */
export function isEnough(settings: RoundSettings, percentages: readonly number[]): boolean {
  const last = percentages.at(-1);
  if (percentages.length >= settings.iterations) return true;
  if (last === undefined) return false;
  const before = percentages.at(-2);
  return last >= settings.goal || (percentages.length > 2 && before !== undefined && last <= before);
}

/** A kernel that cannot track memory copies all of it at once: a failed round is logged, and the migration continues. */
export function memoryRounds(
  checkpoints: Pick<Checkpoints, 'prepare'> | undefined,
  { name, volumeDir, config }: { readonly name: string; readonly volumeDir: string; readonly config: ConfigMap },
  log: Pick<Log, 'warn'>,
): MemoryRounds {
  const settings = roundSettings(config);
  const remove = (): Promise<void> => removeRounds(volumeDir);
  return {
    async copy(signal) {
      if (checkpoints === undefined || settings === undefined) return undefined;
      await remove();
      try {
        return await copyMemory(checkpoints, name, volumeDir, settings, signal);
      } catch (error) {
        await remove();
        signal.throwIfAborted();
        log.warn(`The memory of ${name} is copied at once: copying it in rounds failed: ${errorText(error)}`);
        return undefined;
      }
    },
    remove,
  };
}

async function copyMemory(
  checkpoints: Pick<Checkpoints, 'prepare'>,
  name: string,
  volumeDir: string,
  settings: RoundSettings,
  signal: AbortSignal,
): Promise<string | undefined> {
  const percentages: number[] = [];
  let previous: string | undefined;
  while (!isEnough(settings, percentages)) {
    const dir = roundDirOf(volumeDir, percentages.length);
    await mkdir(dir, { mode: 0o700 });
    const before = previous === undefined ? {} : { previous };
    percentages.push((await checkpoints.prepare(name, { dir, ...before }, signal)).unchangedPercent);
    previous = dir;
  }
  return previous;
}
