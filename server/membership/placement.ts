// Chooses the member of a cluster for a new container: which members may have it, and the best of them. Pure.
import { architectureName, architecturesOfHost } from '../api/image/architectures.ts';
import { AppError, errors } from '../api/errors.ts';
import type { Member } from './members.ts';
import type { MemberLoad } from './signals.ts';

export interface PlacementWish {
  /** `?target=`: the name of a member, `@GROUP`, or empty: the best member. */
  readonly target: string;
  /** Any name of the architecture of its programs; undefined: any architecture. */
  readonly architecture?: string | undefined;
  /** Members with this architecture are chosen before others. */
  readonly preferred?: string | undefined;
  /** Why the member cannot have it, beyond the reasons for every container. */
  readonly objection: (member: Member) => string | undefined;
  /** How many containers are on their way to the member, not counted yet. */
  readonly coming: (member: Member) => number;
}

/** A member with a smaller share of free memory is the last choice. */
const scarceShare = 0.05;

/** Throws AppError notFound for an unknown target, badRequest with a reason for each member when none can take it. */
export function placeContainer(members: readonly Member[], wish: PlacementWish): Member {
  const candidates = membersOf(members, wish.target);
  const isChosen = wish.target !== '' && !wish.target.startsWith('@');
  const judged = candidates.map((member) => ({ member, reason: reasonAgainst(member, wish, isChosen) }));
  const [best] = judged
    .filter(({ reason }) => reason === undefined)
    .map(({ member }) => member)
    .toSorted((a, b) => isOther(a, wish) - isOther(b, wish) || compare(a, b, wish.coming));
  if (best !== undefined) return best;
  const reasons = judged.map(({ member, reason }) => `${member.name} ${reason ?? ''}`).join('; ');
  throw errors.badRequest(`No member of the cluster can take the container: ${reasons}`);
}

/** For a volume with a group as its target (`@GROUP`): this member if it is in the group, otherwise the first one. */
export function placeVolume(members: readonly Member[], group: string): Member {
  const candidates = membersOf(members, group);
  const [best] = candidates
    .filter((member) => generalReason(member) === undefined)
    .toSorted((a, b) => Number(b.isHere) - Number(a.isHere) || (a.name < b.name ? -1 : 1));
  if (best !== undefined) return best;
  const names = candidates.map((member) => `${member.name} ${generalReason(member) ?? ''}`);
  throw errors.badRequest(`No member of the group ${group.slice(1)} can take the volume: ${names.join('; ')}`);
}

/** Why the member takes no new object; undefined if it does. */
function generalReason({ isPresent, document, present }: Member): string | undefined {
  if (!isPresent) return 'is offline';
  if (document.evacuated === true) return 'is evacuated';
  return present?.isReadOnly === true ? 'is read-only: its disk is full' : undefined;
}

/** The members that a target names; all for an empty one. Throws AppError notFound. */
export function membersOf(members: readonly Member[], target: string): readonly Member[] {
  if (target === '') return members;
  const found = target.startsWith('@')
    ? members.filter(({ document }) => (document.groups ?? ['default']).includes(target.slice(1)))
    : members.filter(({ name }) => name === target);
  if (found.length > 0) return found;
  if (!target.startsWith('@')) throw errors.notFound('cluster member', target);
  throw new AppError('notFound', `No member of the cluster is in the group ${target.slice(1)}`);
}

function reasonAgainst(member: Member, wish: PlacementWish, isChosen: boolean): string | undefined {
  const { document } = member;
  const general = generalReason(member);
  if (general !== undefined) return general;
  const scheduled = document.config?.['scheduler.instance'] ?? 'all';
  if (!isChosen && scheduled === 'manual') return 'takes containers only as target (scheduler.instance: manual)';
  if (wish.target === '' && scheduled === 'group')
    return 'takes containers only by target or group (scheduler.instance: group)';
  const wanted = architectureName(wish.architecture ?? '');
  if (wanted !== undefined && !runs(document.architecture, wanted))
    return `has the architecture ${document.architecture} and not ${wanted}`;
  return wish.objection(member);
}

const runs = (host: string, wanted: string): boolean => host === wanted || architecturesOfHost(host).includes(wanted);

function isOther({ document }: Member, { preferred = '' }: PlacementWish): number {
  const name = architectureName(preferred);
  return Number(name !== undefined && !runs(document.architecture, name));
}

/** Members with enough memory first, then the fewest containers, then the member that was asked. */
function compare(a: Member, b: Member, coming: PlacementWish['coming']): number {
  return (
    Number(isScarce(a)) - Number(isScarce(b)) ||
    a.containers + coming(a) - (b.containers + coming(b)) ||
    Number(b.isHere) - Number(a.isHere) ||
    (a.name < b.name ? -1 : 1)
  );
}

const isScarce = ({ present }: Member): boolean => present !== undefined && isMemoryScarce(present.load);

export const isMemoryScarce = ({ memoryFreeBytes, memoryTotalBytes }: MemberLoad): boolean =>
  memoryFreeBytes < memoryTotalBytes * scarceShare;
