// The pages of man that the build has made, compressed, for the package whose programs they describe.
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** By path below usr/share/man. `folder` holds man1, man8 and the like. */
export function manuals(
  folder: string,
  gzip: (text: string) => Buffer,
): Readonly<Record<'gantry' | 'gantryd', ReadonlyMap<string, Buffer>>> {
  const pages = existsSync(folder)
    ? readdirSync(folder, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
        .toSorted()
    : [];
  const of = (isWanted: (page: string) => boolean): ReadonlyMap<string, Buffer> =>
    new Map(pages.filter(isWanted).map((page) => [`${page}.gz`, gzip(readFileSync(join(folder, page), 'utf8'))]));
  const isOfDaemon = (page: string): boolean => page.includes('/gantryd');
  return { gantry: of((page) => !isOfDaemon(page)), gantryd: of(isOfDaemon) };
}
