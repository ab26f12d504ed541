// Compares the clock of this member with the clocks of a few others: expiry, schedules and ordering use the clock of the member that has
// the object.
import type { Member } from './members.ts';

export interface ClockWatchDeps {
  readonly others: () => readonly Member[];
  /** The clock of that member, in ms since 1970; undefined if it does not answer. */
  readonly clockOf: (member: Member) => Promise<number | undefined>;
  readonly nowMs: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
}

/** How many members are asked: enough to outvote one wrong clock. */
const asked = 3;
/** Certificates, tokens and schedules tolerate less than this. */
const toleratedMs = 30_000;

export class ClockWatch {
  readonly #deps: ClockWatchDeps;
  #problem: string | undefined;

  constructor(deps: ClockWatchDeps) {
    this.#deps = deps;
  }

  /** A sentence for the administrator; undefined if the clocks agree or no member answers. */
  get problem(): string | undefined {
    return this.#problem;
  }

  /** Never throws. */
  async look(): Promise<void> {
    const { others, clockOf, nowMs, random } = this.#deps;
    const some = others()
      .map((member) => ({ member, order: random() }))
      .toSorted((a, b) => a.order - b.order)
      .slice(0, asked)
      .map(({ member }) => member);
    const ahead = await Promise.all(
      some.map(async (member) => {
        const beforeMs = nowMs();
        const itsMs = await clockOf(member).catch(() => undefined);
        return itsMs === undefined ? [] : [(beforeMs + nowMs()) / 2 - itsMs];
      }),
    );
    this.#problem = clockProblem(ahead.flat());
  }
}

/** `aheadMs`: how far this clock is ahead of each other one. With this clock, half of the asked ones or more must differ: of three members, two
 *  outvote the third. Pure. */
export function clockProblem(aheadMs: readonly number[]): string | undefined {
  const sorted = aheadMs.toSorted((a, b) => Math.abs(a) - Math.abs(b));
  const middle = sorted[Math.floor((sorted.length - 1) / 2)];
  if (middle === undefined || Math.abs(middle) <= toleratedMs) return undefined;
  const seconds = Math.round(Math.abs(middle) / 1000);
  return `The clock of this member is ${seconds} s ${middle > 0 ? 'ahead of' : 'behind'} those of other members: set it, and keep it set (chrony, systemd-timesyncd)`;
}
