// A check of the lane: a sentence, and its actions on a booted machine. The checks of one machine run in order and build on each other.
import type { Machine } from './machine.ts';

export interface Check {
  readonly name: string;
  /** If it fails, later checks are pointless. */
  readonly vital?: boolean;
  run(host: Machine): Promise<void>;
}

export function expectMatch(text: string, pattern: RegExp, what: string): void {
  if (!pattern.test(text)) throw new Error(`${what} does not match ${pattern}:\n${text}`);
}

export function expectSame(found: string, wanted: string, what: string): void {
  if (found !== wanted) throw new Error(`${what}: found\n${found}\nwanted\n${wanted}`);
}
