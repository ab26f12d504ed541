// Entries of a list, day by day, in the order of the list. Pure.
export interface Day<T> {
  readonly day: string;
  readonly items: readonly T[];
}

export function byDay<T>(entries: readonly T[], dayOf: (entry: T) => string): readonly Day<T>[] {
  const days = new Map<string, T[]>();
  for (const entry of entries) {
    const day = dayOf(entry);
    const items = days.get(day);
    if (items) items.push(entry);
    else days.set(day, [entry]);
  }
  return [...days].map(([day, items]) => ({ day, items }));
}
