// The columns of `gantry get`: a heading and the text of a cell for each member that a row of server/api/kinds.ts names.
import { kindRow, nameOfObject, type KindName } from '../../../../server/api/kinds.ts';
import type { ContainerState } from '../../../../server/api/container/container.ts';
import { defaultProject } from '../../../../server/api/project/project-names.ts';
import { globalAddresses } from '../../../../server/client/wait/describe-state.ts';
import { scopedName } from '../../../core/text/scoped-name.ts';

export type ObjectRow = Readonly<Record<string, unknown>>;

interface Column {
  /** Default: the member in capitals. */
  readonly head?: string;
  /** Default: the member as text. */
  readonly cell: (object: ObjectRow) => string;
}

export interface Columns {
  readonly head: readonly string[];
  readonly row: (object: ObjectRow) => readonly string[];
}

/** `withProject`: the first column is the project of each object. */
export function columnsOfKind(kind: KindName, withProject = false): Columns {
  const { columns, namedBy } = kindRow(kind);
  const found = columns.map((member) => special[member] ?? { cell: (object: ObjectRow) => text(object, member) });
  return {
    head: [
      ...(withProject ? ['PROJECT'] : []),
      (namedBy?.at(-1) ?? 'name').toUpperCase(),
      ...columns.map((member, index) => found[index]?.head ?? member.toUpperCase()),
    ],
    row: (object) => [
      ...(withProject ? [text(object, 'project')] : []),
      nameOfObject(kind, object),
      ...found.map(({ cell }) => cell(object)),
    ],
  };
}

/** The name with its project; without it for `default`. */
export const shownName = (name: string, project: string): string =>
  scopedName(name, project === defaultProject ? undefined : project);

const special: Readonly<Record<string, Column>> = {
  used_by: {
    head: 'USED BY',
    cell: (object) => String(Array.isArray(object['used_by']) ? object['used_by'].length : 0),
  },
  config: { head: 'KEYS', cell: (object) => String(Object.keys(object['config'] ?? {}).length) },
  managed: { cell: (object) => (object['managed'] === true ? 'yes' : 'no') },
  aliases: {
    cell: (object) =>
      ((object['aliases'] ?? []) as readonly { readonly name: string }[]).map(({ name }) => name).join(','),
  },
  uploaded_at: { head: 'UPLOADED', cell: (object) => text(object, 'uploaded_at').slice(0, 10) },
  target: { cell: (object) => text(object, 'target').slice(0, 12) },
  addresses: { cell: addressesOf },
  image: { cell: imageOf },
};

const text = (object: ObjectRow, key: string): string => {
  const value = object[key];
  return typeof value === 'string' ? value.split('\n', 1).join('') : Array.isArray(value) ? value.join(',') : '';
};

function addressesOf({ state }: ObjectRow): string {
  if (state === undefined || state === null) return '';
  return globalAddresses(state as ContainerState)
    .map(({ address }) => address)
    .join(' ');
}

/** The description of the image, else the first digits of its fingerprint. */
function imageOf({ config }: ObjectRow): string {
  const { 'image.description': description, 'volatile.base_image': fingerprint } = (config ?? {}) as Partial<
    Record<string, string>
  >;
  return description ?? fingerprint?.slice(0, 12) ?? '';
}
