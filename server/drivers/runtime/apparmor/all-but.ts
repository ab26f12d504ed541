// AppArmor patterns that match every path below a folder except those listed. A deny rule cannot have exceptions, so the patterns spell
// them out letter by letter. Pure.

interface Letters {
  readonly next: Map<string, Letters>;
  /** A kept name ends here: `all` below it, or only the patterns of its own. */
  kept: 'all' | Letters | undefined;
}

const none = (): Letters => ({ next: new Map(), kept: undefined });

/** `kept` are paths below `folder`: `fs/cgroup` keeps that folder and all in it, a `*` at the end keeps all names with that prefix. */
export function allBut(folder: string, kept: readonly string[]): readonly string[] {
  const root = none();
  for (const path of kept) keep(root, path.split('/'));
  return patternsBelow(`${folder}/`, root);
}

function keep(names: Letters, [name = '', ...rest]: readonly string[]): void {
  let at = names;
  for (const letter of name) {
    const next: Letters = at.next.get(letter) ?? none();
    at.next.set(letter, next);
    at = next;
  }
  if (rest.length === 0) at.kept = 'all';
  else if (at.kept !== 'all') {
    at.kept ??= none();
    keep(at.kept, rest);
  }
}

function patternsBelow(before: string, { next, kept }: Letters, isFirst = true): readonly string[] {
  if (next.has('*')) return [];
  const known = [...next.keys()].sort();
  const ended = kept !== undefined || isFirst ? [] : [`${before}{,/{,**}}`];
  const other = known.length === 0 ? [`${before}[^/]*{,/{,**}}`] : [`${before}[^${known.join('')}/]*{,/{,**}}`];
  const deeper = kept === undefined || kept === 'all' ? [] : patternsBelow(`${before}/`, kept);
  return [...ended, ...other, ...deeper, ...known.flatMap((letter) => continued(before, letter, next))];
}

function continued(before: string, letter: string, next: ReadonlyMap<string, Letters>): readonly string[] {
  const letters = next.get(letter);
  return letters === undefined ? [] : patternsBelow(`${before}${letter}`, letters, false);
}
