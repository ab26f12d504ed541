// Decides which sets of a generator leave: those that it made before and no longer makes. Pure.
import type { WrittenSet } from '../config/schema.ts';
import type { Entry, GeneratorConfig } from '../config/generator-schema.ts';

/** A generated set, recorded until all of its objects are gone. */
export interface MadeSet {
  readonly generator: string;
  readonly set: WrittenSet;
  /** Its variables. */
  readonly entry: Entry;
  readonly isLeaving?: true;
}

export interface Leaving {
  readonly leaving: readonly MadeSet[];
  /** Sets that stay because too many would leave at once. */
  readonly kept: readonly MadeSet[];
  readonly problem?: string;
}

const leastLimit = 3;

/** `before`: the sets that the generator made; `now`: the names that it makes. */
export function decideLeaving(
  { name, prune }: Pick<GeneratorConfig, 'name' | 'prune'>,
  before: readonly MadeSet[],
  now: ReadonlySet<string>,
): Leaving {
  if (prune === undefined) return { leaving: [], kept: [] };
  const gone = before.filter(({ set }) => !now.has(set.name));
  const [going, fresh] = [gone.filter(isGoing), gone.filter((one) => !isGoing(one))];
  const present = before.filter((one) => !isGoing(one)).length;
  const limit = limitOf(prune.max, present);
  if (fresh.length <= limit) return { leaving: gone.map((one) => ({ ...one, isLeaving: true })), kept: [] };
  const names = fresh.slice(0, 5).map(({ set }) => set.name);
  const problem =
    `the generator ${name} no longer makes ${fresh.length} of its ${present} sets (${names.join(', ')}${fresh.length > 5 ? ', ...' : ''}), ` +
    `and at most ${limit} may go at once: they stay; if they shall go, raise prune.max of the generator`;
  return { leaving: going, kept: fresh, problem };
}

const isGoing = ({ isLeaving }: MadeSet): boolean => isLeaving === true;

function limitOf(max: number | string | undefined, present: number): number {
  if (max === undefined) return Math.max(leastLimit, Math.floor(present / 2));
  if (typeof max === 'number') return max;
  const percent = Number(max.slice(0, -1));
  return percent === 0 ? 0 : Math.max(1, Math.floor((present * percent) / 100));
}
