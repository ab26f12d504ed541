// The entry point of `npm run build:man`: writes the manual pages to dist/man.
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { manPages } from '../../docs/generate/man-pages.ts';

const folder = join('dist', 'man');
rmSync(folder, { recursive: true, force: true });
for (const [path, text] of manPages()) {
  mkdirSync(dirname(join(folder, path)), { recursive: true });
  writeFileSync(join(folder, path), text);
}
