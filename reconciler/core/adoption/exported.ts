// An exported object: the document that declares it, or a comment that explains why it is left out.
import type { KindName } from '../../../server/api/kinds.ts';
import { statusCodes } from '../../../server/api/status.ts';
import { addressOf, type Address, type JsonObject } from '../documents/document.ts';
import { defaultSet, type OwnerRecord, type Path } from '../ownership/owner-records.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface ExportedObject {
  readonly address: Address;
  readonly kind: KindName;
  readonly name: string;
  /** The flat document with `kind` and `name` first; absent when no document can declare it: the comments explain why. */
  readonly values?: JsonObject;
  /** Lines before the document. */
  readonly comments: readonly string[];
  /** No document can recreate the object: the export tells the user. */
  readonly isLeftOut?: boolean;
  /** Remarks beside single keys. */
  readonly remarks: readonly { readonly path: Path; readonly text: string }[];
}

/** A live object with the records of its owners. */
export interface Own {
  readonly kind: KindName;
  readonly live: JsonObject;
  readonly records: readonly OwnerRecord[];
  readonly mine: OwnerRecord | undefined;
  readonly set: string;
  readonly project: string | undefined;
}

/** The server stores protection and policies, so that they survive the manifest. */
export function manageOf({ mine, set, live }: Own): JsonObject {
  const { protect = false, onDelete = 'delete', prune } = mine?.policy ?? {};
  return {
    ...(set === defaultSet ? {} : { set }),
    // A document cannot declare frozen; without this, an apply would thaw the container.
    ...(live['status_code'] === statusCodes.frozen ? { power: 'ignore' } : {}),
    ...(protect ? { protect } : {}),
    ...(onDelete === 'delete' ? {} : { on_delete: onDelete }),
    ...withoutUndefined({ prune }),
  };
}

export const remark = ({ kind }: Pick<Own, 'kind'>, name: string, comments: readonly string[]): ExportedObject => ({
  address: addressOf(kind, name),
  kind,
  name,
  comments: comments.map((line) => `${kind}/${name} ${line}`),
  remarks: [],
});
