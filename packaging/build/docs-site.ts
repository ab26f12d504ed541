// Reads the documentation of this release and writes it as a site to FOLDER/VERSION, with a list of all releases in FOLDER.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { makeSite, version, versionsHtml, type Source } from '../../docs/generate/site/site.ts';

const roots = ['README.md', 'CHANGELOG.md', 'docs', 'examples', 'provider/docs'];

/** What the repository or package at `root` has of the documentation: a package for Debian lacks the pages of the provider. */
export function readSource(root: string): Source {
  const all = roots
    .filter((path) => existsSync(join(root, path)))
    .flatMap((path) => filesAt(root, path))
    .filter((path) => !path.startsWith('docs/generate/'));
  const pages = all.filter((path) => path.endsWith('.md'));
  return {
    pages: new Map(pages.map((path) => [path, readFileSync(join(root, path), 'utf8')])),
    files: new Set(all.filter((path) => !path.endsWith('.md'))),
    version,
  };
}

function filesAt(root: string, path: string): readonly string[] {
  if (!statSync(join(root, path)).isDirectory()) return [path];
  return readdirSync(join(root, path))
    .filter((name) => !name.startsWith('.') && name !== 'node_modules')
    .toSorted()
    .flatMap((name) => filesAt(root, `${path}/${name}`));
}

/** Earlier releases in the folder stay. */
export function writeSite(root: string, folder: string): void {
  const { texts, copies } = makeSite(readSource(root));
  const target = join(folder, version);
  rmSync(target, { recursive: true, force: true });
  for (const [path, text] of texts) {
    mkdirSync(dirname(join(target, path)), { recursive: true });
    writeFileSync(join(target, path), text);
  }
  for (const path of copies) cpSync(join(root, path), join(target, path));
  const versions = readdirSync(folder).filter(
    (name) => /^\d+\.\d+\.\d+/.test(name) && existsSync(join(folder, name, 'index.html')),
  );
  writeFileSync(
    join(folder, 'index.html'),
    versionsHtml(versions.toSorted((one, other) => other.localeCompare(one, 'en', { numeric: true }))),
  );
}
