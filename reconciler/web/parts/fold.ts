// Joins equal neighbours of a list into one row, so that repetitions do not hide older entries. Pure.

export interface Fold<T> {
  readonly first: T;
  readonly last: T;
  readonly times: number;
}

export function folded<T>(items: readonly T[], areAlike: (one: T, next: T) => boolean): readonly Fold<T>[] {
  const folds: { first: T; last: T; times: number }[] = [];
  for (const item of items) {
    const before = folds.at(-1);
    if (before !== undefined && areAlike(before.last, item)) {
      before.last = item;
      before.times += 1;
    } else folds.push({ first: item, last: item, times: 1 });
  }
  return folds;
}
