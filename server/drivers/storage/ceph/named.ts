// Marks with the names of volumes that RBD does not take as names of images.
import type { PoolSpec } from '../driver.ts';
import { mark, unmark } from './calls.ts';
import { readImage } from './list-images.ts';
import { imageName, needsMark } from './names.ts';

export const idMark = 'id:';

export const idsIn = (marks: readonly string[]): readonly string[] =>
  marks.flatMap((each) => (each.startsWith(idMark) ? [each.slice(idMark.length)] : []));

/** Notes a name that the image cannot have, while it is made: a note without an image is of no use. */
export async function marked(pool: PoolSpec, id: string, make: () => Promise<unknown>): Promise<void> {
  if (!needsMark(id)) return void (await make());
  await mark(pool, `${idMark}${id}`);
  try {
    await make();
  } catch (error) {
    if ((await readImage(pool, imageName(id)).catch(() => true)) === undefined)
      await unmark(pool, `${idMark}${id}`).catch(() => {});
    throw error;
  }
}
