// Keeps parts in the order of the configuration.

/** Sorts the parts in the order of the file, in which they are shown and asked for the lease. */
export function inOrder<T>(parts: Map<string, T>, entries: readonly { readonly name: string }[]): void {
  const before = new Map(parts);
  parts.clear();
  for (const { name } of entries) {
    const part = before.get(name);
    if (part !== undefined) parts.set(name, part);
  }
}
