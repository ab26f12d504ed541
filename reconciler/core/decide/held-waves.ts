// A wave begins when all lower ones are done: while a change in a lower wave is refused, what comes after it is refused, too. A destroy
// goes the other way. Pure.
import type { Address } from '../documents/document.ts';
import type { Decision } from './decision.ts';

/** The first refused change, in the first wave that has one. */
export interface RefusedChange {
  readonly address: Address;
  readonly wave: number;
}

/** An object of which nothing is known has a guard and no change. */
export const isRefused = ({ guard, action, power }: Decision['change']): boolean =>
  guard !== undefined && (action !== 'no-op' || power !== undefined);

/** `wave`: Infinity for what comes after all waves. */
export function behindRefused(decision: Decision, wave: number, refused: RefusedChange | undefined): Decision {
  if (refused === undefined || refused.wave >= wave || decision.sketches.length === 0) return decision;
  const { address } = decision.change;
  return held(
    decision,
    wave === Infinity ? `the deletion of ${address}` : `${address} of wave ${wave}`,
    refused,
    'change',
  );
}

/** The deletion of an object in a destroy, where higher waves go first. */
export function beforeRefused(decision: Decision, wave: number, refused: RefusedChange | undefined): Decision {
  if (refused === undefined || refused.wave <= wave || decision.sketches.length === 0) return decision;
  return held(decision, `the deletion of ${decision.change.address} of wave ${wave}`, refused, 'deletion');
}

function held(decision: Decision, what: string, refused: RefusedChange, noun: 'change' | 'deletion'): Decision {
  const { isSplit: _isSplit, ...change } = decision.change;
  const { address } = change;
  const guard = {
    code: 'dependency',
    address,
    message: `${what} comes after ${refused.address} of wave ${refused.wave}, whose ${noun} is refused`,
    remedy: `end what refuses the ${noun} of ${refused.address}; then plan again`,
  } as const;
  return { change: { ...change, guard }, sketches: [] };
}
