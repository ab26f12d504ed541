// What volumes are called as datasets: readable where ZFS can have the name (containers/web, custom-snapshots/data::monday), else a hash, and the
// name in a property. Pure.
import { createHash } from 'node:crypto';
import { poolFolders } from '../layout.ts';

/** The property that has the names of a volume whose dataset is called by a hash. */
export const idProperty = 'gantry:id';

/** Volumes with clones are kept here when they are deleted, until the last clone goes. */
export const deletedFolder = 'deleted';

export const datasetFolders: readonly string[] = [...poolFolders, deletedFolder];

/** ZFS has names of 255 characters, snapshots included; the dataset of the pool has the rest. */
const longestReadable = 120;
export const longestPool = 80;
const hashed = 'hash:-';

/** `id`: the path of a volume below the place of its pool. Relative to the dataset of the pool. */
export function datasetName(id: string): string {
  return readableName(id) ?? hashedName(id);
}

const folderOf = (id: string): string => id.split('/')[0] ?? '';

function hashedName(id: string): string {
  return `${folderOf(id)}/${hashed}${createHash('sha256').update(id).digest('hex').slice(0, 40)}`;
}

function readableName(id: string): string | undefined {
  const [folder = '', ...names] = id.split('/');
  const name = `${folder}/${names.map(escaped).join('::')}`;
  return name.length <= longestReadable ? name : undefined;
}

/** Characters that datasets cannot have are written as `:` and two digits; volumes have no `:` of their own, snapshots may. */
const escaped = (name: string): string =>
  name.replace(/[^A-Za-z0-9_.-]|^\.{1,2}$/g, (text) =>
    text.replace(/./gs, (each) => `:${each.charCodeAt(0).toString(16).padStart(2, '0')}`),
  );

const unescaped = (text: string): string =>
  text.replace(/:([0-9a-f]{2})/g, (_, code: string) => String.fromCharCode(parseInt(code, 16)));

/** What the property says of a volume that is to get that id, undefined when its name says it. `before`: what it says now. */
export function idText(id: string, before = ''): string | undefined {
  if (readableName(id) !== undefined) return undefined;
  return [...before.split(' ').filter((each) => each !== '' && each !== '-' && each !== id), id].slice(-2).join(' ');
}

/** Undefined: it is none of ours. Before and after a rename the property has both names: the one that fits counts. */
export function idOf(name: string, property: string): string | undefined {
  const [folder = '', rest = '', ...more] = name.split('/');
  if (rest === '' || more.length > 0 || !poolFolders.includes(folder)) return undefined;
  if (rest.startsWith(hashed)) return property.split(' ').find((id) => hashedName(id) === name);
  const id = [folder, ...rest.split('::').map(unescaped)].join('/');
  return readableName(id) === name ? id : undefined;
}

const reserved = /^(?:mirror|raidz|draid|spare|log|c[0-9])/;

/** The broken rule of a name of a zpool that is to be made; undefined: it is fine. */
export function poolNameProblem(name: string): string | undefined {
  if (!/^[A-Za-z][A-Za-z0-9_.-]*$/.test(name)) return 'must be a letter, and then letters, digits, _ . and -';
  if (reserved.test(name))
    return 'must not begin with a word of ZFS: mirror, raidz, draid, spare, log, or c and a digit';
  return name.length > longestPool ? `must not be longer than ${longestPool} characters` : undefined;
}

/** The same of a dataset that is there, POOL or POOL/NAME... */
export function datasetProblem(name: string): string | undefined {
  if (!/^[A-Za-z][A-Za-z0-9_.:-]*(?:\/[A-Za-z0-9_:-][A-Za-z0-9_.:-]*)*$/.test(name))
    return 'must be a device (/dev/...), a pool of ZFS, or a dataset in one: POOL/NAME';
  return name.length > longestPool ? `must not be longer than ${longestPool} characters` : undefined;
}
