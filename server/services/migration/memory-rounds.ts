// Copies the memory of a running container in rounds before its run state is stored, so that it stands still for less time
// (migration.incremental.memory). When to stop is decided by a pure function.
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { ConfigMap } from '../../api/schema/common-schemas.ts';
import { isTrue } from '../../api/container/container-config.ts';
import type { StatefulRuns } from '../../drivers/runtime/driver.ts';

export interface RoundSettings {
  /** Percentage of memory that must be in place. */
  readonly goal: number;
  readonly iterations: number;
}

/** Undefined: all memory is copied at once, while the container stands still. */
export function roundSettings(config: ConfigMap): RoundSettings | undefined {
  if (!isTrue(config['migration.incremental.memory'])) return undefined;
  const number = (key: string, fallback: number): number => {
    const value = config[`migration.incremental.memory.${key}`] ?? '';
    return value === '' ? fallback : Number(value);
  };
  return { goal: number('goal', 70), iterations: number('iterations', 10) };
}

/** Another round is worth it while the goal is not reached, rounds are left, and the last one still brought something. */
export function isEnough(settings: RoundSettings, percentages: readonly number[]): boolean {
  const last = percentages.at(-1);
  if (percentages.length >= settings.iterations) return true;
  if (last === undefined) return false;
  const before = percentages.at(-2);
  return last >= settings.goal || (percentages.length > 2 && before !== undefined && last <= before);
}

/**
 * Runs the rounds into `round-0`, `round-1` … below `dir`, an existing directory in which the checkpoint's own is to be as well.
 * Resolves to the last round's, which is the `previous` of the checkpoint; undefined when no round was to be made. A round that
 * fails rejects; the container runs on.
 */
export async function copyMemory(
  stateful: Pick<StatefulRuns, 'prepare'>,
  name: string,
  dir: string,
  settings: RoundSettings,
  progress: (text: string) => void,
  signal: AbortSignal,
): Promise<string | undefined> {
  const percentages: number[] = [];
  let previous: string | undefined;
  while (!isEnough(settings, percentages)) {
    const round = join(dir, `round-${percentages.length}`);
    await mkdir(round, { mode: 0o700 });
    const options = { dir: round, ...(previous === undefined ? {} : { previous }) };
    const { unchangedPercent } = await stateful.prepare(name, options, signal);
    percentages.push(unchangedPercent);
    progress(`round ${percentages.length}: ${unchangedPercent}% of memory in place`);
    previous = round;
  }
  return previous;
}
