// Compares the clock of this member with those of a few others: what expires, is scheduled or is ordered by time goes by the clock of the
// member that has it.
import type { Member } from './members.ts';

export interface ClockWatchDeps {
  readonly others: () => readonly Member[];
  /** The clock of that member, in ms since 1970; undefined: it does not answer. */
  readonly clockOf: (member: Member) => Promise<number | undefined>;
  readonly nowMs: () => number;
  /** From 0 to 1. */
  readonly random: () => number;
}

/** So many others are asked, so that one with a wrong clock is outvoted. */
const asked = 3;
/** Certificates, tokens and schedules bear less than this. */
const toleratedMs = 30_000;

export class ClockWatch {
  readonly #deps: ClockWatchDeps;
  #problem: string | undefined;

  constructor(deps: ClockWatchDeps) {
    this.#deps = deps;
  }

  /** In words for people; undefined: the clocks agree, or nobody answers. */
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

/** `aheadMs`: how far this clock is ahead of each of the others. Pure. */
export function clockProblem(aheadMs: readonly number[]): string | undefined {
  const sorted = aheadMs.toSorted((a, b) => Math.abs(a) - Math.abs(b));
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (middle === undefined || Math.abs(middle) <= toleratedMs) return undefined;
  const seconds = Math.round(Math.abs(middle) / 1000);
  return `The clock of this member is ${seconds} s ${middle > 0 ? 'ahead of' : 'behind'} those of other members: set it, and keep it set (chrony, systemd-timesyncd)`;
}
