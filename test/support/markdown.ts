// The Markdown pages of the repository, for tests of their contents.
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');

export interface MarkdownPage {
  /** From the repository root. */
  readonly path: string;
  readonly file: string;
  readonly text: string;
}

/** The pages below a folder of the repository; `.` is all of it. */
export function markdownPages(folder: string): readonly MarkdownPage[] {
  return filesBelow(join(root, folder))
    .filter((file) => file.endsWith('.md'))
    .map((file) => ({ file, path: relative(root, file) }))
    .sort((a, b) => (a.path < b.path ? -1 : 1))
    .map(({ file, path }) => ({ file, path, text: readFileSync(file, 'utf8') }));
}

/** The text without fenced code, and without inline code unless requested. */
export function withoutCode(text: string, { inline = true }: { readonly inline?: boolean } = {}): string {
  const prose = text.replaceAll(/^ *```[\s\S]*?^ *```$/gm, '');
  return inline ? prose.replaceAll(/`[^`\n]*`/g, '') : prose;
}

const notOurs = /^(node_modules|dist|\..+)$/;

export function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    if (notOurs.test(entry.name)) return [];
    const path = join(folder, entry.name);
    return entry.isDirectory() ? filesBelow(path) : [path];
  });
}
