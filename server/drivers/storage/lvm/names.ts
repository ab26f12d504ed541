// Names of logical volumes: readable if LVM allows the name (containers_web, custom_data--1-monday), otherwise a hash with the name in a
// tag. Pure.
import { createHash } from 'node:crypto';

/** Device mapper has names of 127 characters, for the volume group (up to 36 here) and the logical volume together. */
const longestReadable = 90;
export const longestGroup = 36;

/** `a-b` is written `a--b` in names of devices. */
export const escaped = (name: string): string => name.replaceAll('-', '--');

export const deviceOf = (group: string, logical: string): string => `/dev/mapper/${escaped(group)}-${escaped(logical)}`;

const folders = ['containers', 'images', 'custom', 'tmp', 'replaced'];
const hashed = 'hash_';
const idTag = 'gantry.id=';

/** LVM reserves these. */
const reserved = /_(?:[crt](?:data|meta)|corig|mlog|mimage|pmspare|rimage|vorigin|vdata|wcorig|iorig|imeta)/;

/** `id`: the path of a volume below the place of its pool. */
export function logicalName(id: string): string {
  return readableName(id) ?? `${hashed}${createHash('sha256').update(id).digest('hex').slice(0, 40)}`;
}

function readableName(id: string): string | undefined {
  const [folder = '', ...names] = id.split('/');
  const [, kind = '', isSnapshot] = /^([a-z]+)(-snapshots)?$/.exec(folder) ?? [];
  if (!folders.includes(kind) || names.length !== (isSnapshot === undefined ? 1 : 2)) return undefined;
  if (names.some((name) => !/^[A-Za-z0-9._%-]+$/.test(name))) return undefined;
  const name = `${kind}_${names.map((each) => escaped(each).replaceAll('%', '+')).join('-')}`;
  // A name that begins or ends with a hyphen could pass for another snapshot of another volume.
  const isClear = names.every((each) => !each.startsWith('-') && !each.endsWith('-'));
  return isClear && !reserved.test(name) && escaped(name).length <= longestReadable ? name : undefined;
}

export function tagsFor(id: string): readonly string[] {
  return readableName(id) === undefined ? [`${idTag}${tagText(id)}`] : [];
}

/** Characters that tags cannot have are written as `=` and two digits. */
const tagText = (id: string): string =>
  id.replace(/[^A-Za-z0-9_+./-]/g, (each) => `=${each.charCodeAt(0).toString(16).padStart(2, '0')}`);

/** Undefined for volumes of others. Between the two steps of a rename a volume has tags of both names: the matching one counts. */
export function idOf(logical: string, tags: readonly string[]): string | undefined {
  if (logical.startsWith(hashed)) {
    const ids = tags.filter((tag) => tag.startsWith(idTag)).map((tag) => idInTag(tag));
    return ids.find((id) => logicalName(id) === logical);
  }
  const [, kind = '', rest = ''] = /^([a-z]+)_(.+)$/.exec(logical) ?? [];
  if (!folders.includes(kind)) return undefined;
  const names = rest.split(/(?<!-)-(?!-)/).map((name) => name.replaceAll('--', '-').replaceAll('+', '%'));
  const id = names.length === 1 ? `${kind}/${names[0]}` : `${kind}-snapshots/${names.join('/')}`;
  return logicalName(id) === logical ? id : undefined;
}

const idInTag = (tag: string): string =>
  tag.slice(idTag.length).replace(/=([0-9a-f]{2})/g, (_, code: string) => String.fromCharCode(parseInt(code, 16)));
