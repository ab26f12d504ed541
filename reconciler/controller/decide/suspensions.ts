// Finds the suspensions that apply to a host or an object. Pure.
import { starPattern } from '../../core/text/star-pattern.ts';
import type { Suspension } from '../contract/index.ts';

export const isActive = ({ until }: Pick<Suspension, 'until'>, nowMs: number): boolean =>
  until === undefined || Date.parse(until) > nowMs;

/** The suspension of the whole set on the host; one for all hosts comes first. */
export function ofHost(suspensions: readonly Suspension[], host: string): Suspension | undefined {
  const whole = suspensions.filter(({ address }) => address === undefined);
  return whole.find((one) => one.host === undefined) ?? whole.find((one) => one.host === host);
}

/** The suspensions that apply to this object on this host; `*` in an address matches any text. */
export const ofObject = (suspensions: readonly Suspension[], host: string, address: string): readonly Suspension[] =>
  suspensions.filter(
    (one) =>
      one.address !== undefined &&
      (one.host === undefined || one.host === host) &&
      starPattern(one.address).test(address),
  );

/** Time until the first of them ends by itself. */
export function endsInMs(suspensions: readonly Suspension[], nowMs: number): number | undefined {
  const ends = suspensions.flatMap(({ until }) => (until === undefined ? [] : [Date.parse(until) - nowMs]));
  return ends.length === 0 ? undefined : Math.max(0, Math.min(...ends));
}
