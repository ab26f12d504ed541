// Finds the parts of a plan that wait for offline, failing or evacuated members of the cluster. Pure.
import type { Container } from '../../../server/api/container/container.ts';
import { isUnread } from '../../../server/api/container/unread.ts';
import { isMemberKind } from '../../../server/api/cluster/cluster-member-keys.ts';
import type { KindName } from '../../../server/api/kinds.ts';
import type { Document, Json, JsonObject } from '../documents/document.ts';
import { textOf } from '../documents/json-values.ts';
import type { Observed } from '../documents/observed.ts';
import type { Guard } from '../plan/plan.ts';
import { isPlaced } from '../settings/cluster-members.ts';

export const offlineGuard = ({ address }: Document, member: string): Guard => ({
  code: 'member',
  address,
  message: `${address} cannot be changed: its member ${member} is offline`,
  remedy: `bring ${member} online and plan again; if it is lost for good, gantry cluster remove ${member} --force`,
});

/** Nothing is known about the object but its name and member. */
export const isUnreadObject = (kind: KindName, live: object): boolean =>
  kind === 'container' && isUnread(live as Container);

function memberOfUnread(live: object): string | undefined {
  const location = textOf((live as JsonObject)['location']) ?? '';
  return location === '' || location === 'none' ? undefined : location;
}

export function unreadText(live: object): string {
  const member = memberOfUnread(live);
  const who = member === undefined ? 'the server cannot' : `its member ${member} does not answer, or cannot`;
  return `${who} read it, and lists it without values (status Error)`;
}

export const unreadGuard = ({ address }: Pick<Document, 'address'>, live: object): Guard => {
  const member = memberOfUnread(live);
  return {
    code: 'member',
    address,
    message: `${address} cannot be compared: ${unreadText(live)}`,
    remedy: `${member === undefined ? 'see the log of the server' : `bring ${member} online, or see its log`}, and plan again; --partial does the rest until then`,
  };
};

/** Why the member that the document names cannot create the object. */
export function guardCreate(document: Document, observed: Observed): Guard | undefined {
  const { members } = observed;
  if (!isPlaced(document)) return guardWhole(document, 'created', observed);
  const target = textOf(document.values['target']) ?? '';
  const hidden = [...(members ?? [])].find(([, { status }]) => status === 'Offline')?.[0];
  if (document.kind === 'storage_volume' && hidden !== undefined && !members?.has(target))
    return unseen(document, hidden);
  const status = members?.get(target)?.status;
  if (status !== 'Offline' && (status !== 'Evacuated' || document.kind !== 'container')) return undefined;
  const { address } = document;
  return {
    code: 'member',
    address,
    message: `${address} cannot be created on ${target}: it is ${status.toLowerCase()}`,
    remedy:
      status === 'Offline'
        ? `bring ${target} online, or name another target`
        : `gantry cluster restore ${target}, or name another target`,
  };
}

/** Lists leave out the volumes of members that do not answer. */
const unseen = ({ address }: Document, member: string): Guard => ({
  code: 'member',
  address,
  message: `${address} may be on the member ${member}, which is offline: it is not created a second time`,
  remedy: `bring ${member} online and plan again, or name another member as its target`,
});

/** Pools and networks exist on every member. LXD changes them on all members or none; members of gantryd follow when they are back. */
export function guardWhole(
  { kind, address }: Document,
  verb: 'created' | 'changed' | 'deleted',
  { members, server }: Pick<Observed, 'members' | 'server'>,
): Guard | undefined {
  const away = isMemberKind(kind) && server.isGantry !== true ? offlineIn(members) : [];
  if (away.length === 0) return undefined;
  const names = away.join(', ');
  return {
    code: 'member',
    address,
    message: `${address} cannot be ${verb}: every member has it, and ${names} is offline`,
    remedy: `${bringBack(names)}; --partial does the rest until then`,
  };
}

/** Why the object cannot be deleted now. `live`: absent if no answering member has it. */
export function guardDelete(document: Document, live: JsonObject | undefined, observed: Observed): Guard | undefined {
  const { members } = observed;
  if (members === undefined) return undefined;
  const { address, kind } = document;
  const guard = (message: string, member: string): Guard => ({
    code: 'member',
    address,
    message: `${address} ${message}`,
    remedy: `${bringBack(member)}; --partial does the rest until then`,
  });
  if (live === undefined) {
    const target = textOf(document.values['target']) ?? '';
    const hidden = members.has(target) ? offlineIn(members).filter((name) => name === target) : offlineIn(members);
    return kind === 'storage_volume' && hidden[0] !== undefined
      ? guard(`may be on the member ${hidden[0]}, which is offline: it is not deleted`, hidden[0])
      : undefined;
  }
  if (kind === 'image') return guardCopies(live['locations'], members, guard);
  const location = textOf(live['location']) ?? '';
  return isPlaced(document) && members.get(location)?.status === 'Offline'
    ? guard(`cannot be deleted: its member ${location} is offline`, location)
    : guardWhole(document, 'deleted', observed);
}

/** All copies of an image must be deletable. */
function guardCopies(
  locations: Json | undefined,
  members: NonNullable<Observed['members']>,
  guard: (message: string, member: string) => Guard,
): Guard | undefined {
  const holders = Array.isArray(locations) ? locations.map(String) : [];
  const away = holders.filter((name) => members.get(name)?.status === 'Offline');
  if (away.length === 0) return undefined;
  const names = away.join(', ');
  return guard(
    `cannot be deleted: ${names} ${away.length === 1 ? 'has a copy and is' : 'have copies and are'} offline`,
    names,
  );
}

const offlineIn = (members: Observed['members']): readonly string[] =>
  [...(members ?? [])].filter(([, { status }]) => status === 'Offline').map(([name]) => name);

const bringBack = (member: string): string =>
  `bring ${member} online and run this again, or, if it is lost for good, gantry cluster remove ${member} --force`;
