// Names of RBD images: readable if short (containers:web, custom-snapshots:data:monday), otherwise a hash with the name in a mark of the
// pool. Pure.
import { createHash } from 'node:crypto';
import { poolFolders, recordsFolder } from '../layout.ts';

/** Kernels before 5.x have names of 96 characters. */
const longestReadable = 90;
const hashed = 'hash:';

/** Name prefix of deleted volumes that still have clones. */
export const deletedPrefix = 'deleted:';

/** `id`: the path of a volume below the place of its pool. */
export function imageName(id: string): string {
  return readableName(id) ?? `${hashed}${createHash('sha256').update(id).digest('hex').slice(0, 40)}`;
}

function readableName(id: string): string | undefined {
  const name = id.split('/').map(escaped).join(':');
  return name.length <= longestReadable ? name : undefined;
}

/** Characters that could mean something to the tools are written as `%` and two digits. */
const escaped = (name: string): string =>
  name.replace(/[^A-Za-z0-9_.-]/g, (each) => `%${each.charCodeAt(0).toString(16).padStart(2, '0')}`);

/** Whether the id needs a mark of the pool, as its image name is a hash. */
export const needsMark = (id: string): boolean => readableName(id) === undefined;

/** Undefined for images of others. `marked`: the ids in the pool's marks. */
export function idOf(image: string, marked: readonly string[]): string | undefined {
  if (image.startsWith(hashed)) return marked.find((id) => imageName(id) === image);
  const [folder = '', ...names] = image.split(':');
  if (folder === recordsFolder ? names.length > 0 : !poolFolders.includes(folder) || names.length === 0)
    return undefined;
  const id = [folder, ...names.map(unescaped)].join('/');
  return readableName(id) === image ? id : undefined;
}

const unescaped = (text: string): string =>
  text.replace(/%([0-9a-f]{2})/g, (_, code: string) => String.fromCharCode(parseInt(code, 16)));
