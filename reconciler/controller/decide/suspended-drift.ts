// Finds the drift of suspended objects and fields, which is recorded and shown but not healed. Pure.
import { parseIgnore } from '../../core/ownership/ignored-paths.ts';
import type { DriftFinding, DriftJudgement } from './judge-drift.ts';
import type { Restraint } from './restrain.ts';

type Suspended = Pick<Restraint, 'objects' | 'paths'>;

/** Paths for people: an empty one is the object as a whole. */
export const pathsText = (paths: readonly string[]): string =>
  paths.map((path) => (path === '' ? 'the object as a whole' : path)).join(', ') || 'the object as a whole';

export const isNothing = ({ objects, paths }: Suspended): boolean => objects.size + paths.size === 0;

/** Paths that drifted, by address. `judge`: judges the plan without suspensions. */
export function driftOfSuspended(
  judge: () => DriftJudgement,
  { objects, paths }: Suspended,
): ReadonlyMap<string, readonly string[]> {
  let drift: readonly DriftFinding[];
  try {
    ({ drift } = judge());
  } catch {
    // Only a suspended object can make this plan fail.
    return new Map();
  }
  const found = new Map<string, readonly string[]>();
  for (const { object } of drift) {
    const { address } = object;
    const patterns = parseIgnore(paths.get(address) ?? []);
    const own = object.differences
      .map(({ path }) => path)
      .filter((path) => objects.has(address) || patterns.some(({ test }) => test(path)));
    if (own.length > 0) found.set(address, own);
  }
  return found;
}

/** Each object has one record, of the fields being healed if there are any. `isWhole`: the whole set is suspended. */
export function withSuspended(
  drift: readonly DriftFinding[],
  suspended: ReadonlyMap<string, readonly string[]>,
  isWhole: boolean,
): readonly DriftFinding[] {
  const rest = new Map(suspended);
  const known = drift.map((one): DriftFinding => {
    const { address, differences } = one.object;
    const more = (rest.get(address) ?? []).map((path) => ({ path }));
    rest.delete(address);
    const object = { address, differences: [...differences, ...more] };
    return { object, action: isWhole ? 'suspended' : one.action };
  });
  const alone = [...rest].map(([address, paths]): DriftFinding => {
    const differences = paths.map((path) => ({ path }));
    return { object: { address: address as DriftFinding['object']['address'], differences }, action: 'suspended' };
  });
  return [...known, ...alone];
}
