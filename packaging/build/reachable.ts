// Which files of a tree the modules that it exports lead to, by their relative imports. Reads through a function and touches no disk.
import { posix } from 'node:path';

/** Import, export, dynamic import, require and URLs of workers: every relative path between quotes counts. */
const specifiers = /["'`](\.{1,2}\/[^"'`\s]+)["'`]/g;

/** `read`: the text of a module, undefined where there is none. The entries that exist come first. */
export function reachable(entries: readonly string[], read: (path: string) => string | undefined): readonly string[] {
  const found = new Map<string, string>();
  const open = [...entries];
  for (let path = open.pop(); path !== undefined; path = open.pop()) {
    if (found.has(path)) continue;
    const text = read(path);
    if (text === undefined) continue;
    found.set(path, text);
    for (const [, specifier = ''] of text.matchAll(specifiers))
      open.push(...candidates(posix.join(posix.dirname(path), specifier)));
  }
  return [...found.keys()];
}

/** Declarations name the source (`x.ts`) or the module (`x.js`); the file beside them is `x.d.ts`. */
const candidates = (path: string): readonly string[] => [
  path,
  path.replace(/\.(?:ts|js)$/, '.d.ts'),
  ...['.js', '.d.ts', '/index.js', '/index.d.ts'].map((end) => path + end),
];
