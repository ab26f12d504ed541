// Version constraints of Terraform: `>= 1.2, < 2.0`, `~> 1.5`. Pure.

/** The version of Terraform whose language gantry reads; tests compare with it. */
export const languageVersion = '1.11.4';

interface Version {
  readonly numbers: readonly number[];
  readonly prerelease: string;
  /** The count of written numbers. */
  readonly length: number;
}

function read(text: string): Version | undefined {
  const match = /^v?(\d+(?:\.\d+){0,2})(?:-([0-9A-Za-z.-]+))?(?:\+[0-9A-Za-z.-]+)?$/.exec(text);
  if (match === null) return undefined;
  const numbers = (match[1] ?? '').split('.').map(Number);
  return { numbers: [...numbers, 0, 0].slice(0, 3), prerelease: match[2] ?? '', length: numbers.length };
}

function compare(a: Version, b: Version): number {
  for (const [at, number] of a.numbers.entries()) {
    const difference = number - (b.numbers[at] ?? 0);
    if (difference !== 0) return difference;
  }
  if (a.prerelease === b.prerelease) return 0;
  if (a.prerelease === '' || b.prerelease === '') return a.prerelease === '' ? 1 : -1;
  return a.prerelease < b.prerelease ? -1 : 1;
}

const tests: Readonly<Record<string, (version: Version, wanted: Version) => boolean>> = {
  '': (version, wanted) => compare(version, wanted) === 0,
  '=': (version, wanted) => compare(version, wanted) === 0,
  '!=': (version, wanted) => compare(version, wanted) !== 0,
  '>': (version, wanted) => compare(version, wanted) > 0,
  '>=': (version, wanted) => compare(version, wanted) >= 0,
  '<': (version, wanted) => compare(version, wanted) < 0,
  '<=': (version, wanted) => compare(version, wanted) <= 0,
  // Only the last written number may be greater.
  '~>': (version, wanted) =>
    compare(version, wanted) >= 0 &&
    wanted.numbers.slice(0, Math.max(1, wanted.length - 1)).every((number, at) => number === version.numbers[at]),
};

/** Undefined when Terraform does not accept the constraint. */
export function allows(constraint: string, version: string): boolean | undefined {
  const own = read(version);
  if (own === undefined) return undefined;
  let isAllowed = true;
  for (const part of constraint.split(',')) {
    const match = /^\s*(=|!=|>=|<=|>|<|~>)?\s*(\S+)\s*$/.exec(part);
    const wanted = match === null ? undefined : read(match[2] ?? '');
    const test = tests[match?.[1] ?? ''];
    if (wanted === undefined || test === undefined) return undefined;
    isAllowed &&= test(own, wanted);
  }
  return isAllowed;
}
