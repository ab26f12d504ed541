// Compares two releases by their numbers (MAJOR.MINOR.PATCH); ignores any suffix. Pure.
export function compareVersions(a: string, b: string): number {
  const [one, other] = [numbersOf(a), numbersOf(b)];
  for (let index = 0; index < 3; index += 1) {
    const difference = (one[index] ?? 0) - (other[index] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}

const numbersOf = (version: string): readonly number[] =>
  version
    .split(/[-+]/, 1)[0]
    ?.split('.')
    .map(Number)
    .map((number) => (Number.isFinite(number) ? number : 0)) ?? [];
