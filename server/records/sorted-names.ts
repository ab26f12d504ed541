// Searches in lists that are in order of name.

/** The index of the first name not before this one. */
export function firstFrom(list: readonly { readonly name: string }[], name: string): number {
  let [from, to] = [0, list.length];
  while (from < to) {
    const middle = (from + to) >>> 1;
    if ((list[middle]?.name ?? '') < name) from = middle + 1;
    else to = middle;
  }
  return from;
}
