// One problem of an input: where and what; validation always collects all of them.
import { didYouMean, nearestName } from './text/nearest-word.ts';

/** The search ends after this many: more do not help, and each costs time. */
export const maxProblems = 100;

/** Limits on the size of one object; its values are checked, compared and rendered at each request. */
const [maxKeys, maxDevices] = [2000, 500];

/** At most one problem: too many keys or devices. */
export function countProblems(
  what: 'config' | 'devices',
  members: Readonly<Record<string, unknown>>,
): readonly Problem[] {
  const [count, max] = [Object.keys(members).length, what === 'config' ? maxKeys : maxDevices];
  return count > max
    ? [{ path: what, message: `has ${count} ${what === 'config' ? 'keys' : 'devices'}, at most ${max} are possible` }]
    : [];
}

export interface Problem {
  /** Path in the input, dots between members: `devices.eth0.parent`. Empty for the whole. */
  readonly path: string;
  /** The problem and its remedy. */
  readonly message: string;
  /** For code that treats some problems differently. The API does not send it. */
  readonly code?: ProblemCode;
  /** The known name closest to an unknown one. */
  readonly near?: string;
  /** What the schema takes instead of a value of the wrong type, such as `a string or null`. */
  readonly expected?: string;
}

export type ProblemCode =
  /** A required member of a schema is missing. */
  | 'missing'
  | 'wrongType'
  | 'unknownMember'
  /** The table of config keys has no such key. */
  | 'unknownKey'
  /** Devices of this type have no such property. */
  | 'unknownProperty'
  /** Devices of another kind (nictype) have the property, this one does not. */
  | 'foreignProperty';

/** A problem of an unknown name. `messageOf` gets the hint, which is empty if no known name is close. */
export function unknownName(
  code: ProblemCode,
  path: string,
  word: string,
  known: Iterable<string>,
  messageOf: (hint: string) => string,
): Problem {
  const near = nearestName(word, known);
  return { path, message: messageOf(didYouMean(near)), code, ...(near === undefined ? {} : { near }) };
}

/** Leaves out the problems of `before`: an older choice, or a later change elsewhere, must block no other change. */
export function newProblems<T>(
  of: (value: T) => readonly Problem[],
  now: T,
  before: T | undefined,
): readonly Problem[] {
  const text = ({ path, message }: Problem): string => `${path} ${message}`;
  const known = new Set(before === undefined ? [] : of(before).map(text));
  return of(now).filter((problem) => !known.has(text(problem)));
}
