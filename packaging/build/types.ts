// The second half of `npm run build:types`: copies the declarations that the exports of the package lead to into dist/types.
import { cpSync, readFileSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { reachable } from './reachable.ts';

/** Where the compiler writes those of every module. */
const compiled = 'node_modules/.cache/gantry/types';
const folder = 'dist/types';

function read(path: string): string | undefined {
  try {
    return path.endsWith('.d.ts') ? readFileSync(join(compiled, path), 'utf8') : undefined;
  } catch {
    return undefined;
  }
}

const { exports } = JSON.parse(readFileSync('package.json', 'utf8')) as {
  exports: Readonly<Record<string, { readonly types: string }>>;
};
const entries = Object.values(exports)
  .map(({ types }) => relative(folder, types))
  .filter((path) => !path.startsWith('..'));
const paths = reachable(entries, read);
const missing = entries.filter((entry) => !paths.includes(entry));
if (missing.length > 0)
  throw new Error(`package.json exports types that the build has not made: ${missing.join(', ')}`);
rmSync(folder, { recursive: true, force: true });
for (const path of paths) cpSync(join(compiled, path), join(folder, path));
