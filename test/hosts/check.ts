// What a check of the lane is: a sentence, and what it does to a booted machine. The checks of one machine run in order, on what those before left.
import type { Machine } from './machine.ts';

export interface Check {
  readonly name: string;
  /** Later checks make no sense when it fails. */
  readonly vital?: boolean;
  run(host: Machine): Promise<void>;
}

export function expectMatch(text: string, pattern: RegExp, what: string): void {
  if (!pattern.test(text)) throw new Error(`${what} does not match ${pattern}:\n${text}`);
}

export function expectSame(found: string, wanted: string, what: string): void {
  if (found !== wanted) throw new Error(`${what}: found\n${found}\nwanted\n${wanted}`);
}
