// The record of this member, and whether it is evacuated.
import type { MemberDocument } from '../../../records/cluster-documents.ts';
import type { Records } from '../../../records/records.ts';

type Reading = Pick<Records, 'members' | 'member'>;

export function ownMember(records: Reading): { readonly name: string; readonly document: MemberDocument } | undefined {
  if (records.member === undefined) return undefined;
  return records.members.list().find(({ document }) => document.number === records.member);
}

/** Its containers are elsewhere, or stay stopped until it is restored. */
export const isEvacuated = (records: Reading): boolean => ownMember(records)?.document.evacuated === true;

export async function setEvacuated(records: Records, evacuated: boolean): Promise<void> {
  await records.retry((changes) => {
    const own = ownMember(records);
    if (own === undefined || (own.document.evacuated === true) === evacuated) return;
    const { evacuated: _was, ...document } = own.document;
    changes.put('members', own.name, evacuated ? { ...document, evacuated } : document);
  });
}
