// How a warning changes when its cause is seen or over, and which warnings are removed. Pure.
import { warningTypes, type WarningType } from '../../api/server/warning-types.ts';
import type { WarningDocument, WarningEntityDocument } from '../../records/documents.ts';

export type WarningEntity = WarningEntityDocument;

/** Sightings of one cause since it was last stored. */
export interface Sighting {
  readonly type: WarningType;
  readonly entity?: WarningEntity;
  /** The uuid for a new warning. */
  readonly uuid: string;
  /** How often it was seen; 0: it is over. */
  readonly count: number;
  readonly firstAt: string;
  readonly lastAt: string;
  /** When it was last seen or over. */
  readonly at: string;
  readonly message: string;
  /** The latest: the cause is over. */
  readonly isOver: boolean;
  /** It was over in between, and seen again. */
  readonly isRenewed: boolean;
}

/** Max warnings per member: a user who can make containers fail can cause warnings, too. */
export const maxWarnings = 500;
const longestMessage = 1_000;
/** How long resolved ones stay. */
const keptMs = 24 * 3_600_000;

/** The stored form of the message. */
export const clipped = (message: string): string => message.slice(0, longestMessage);

/** The same cause on the same member is one warning, even if the object was renamed. */
export const identityOf = (type: string, entity: WarningEntity | undefined): string =>
  entity === undefined ? type : `${type} ${entity.kind}/${entity.uuid ?? entity.name}`;

export function seenAgain(
  before: Sighting | undefined,
  seen: Pick<Sighting, 'type' | 'entity' | 'uuid' | 'message' | 'at'>,
): Sighting {
  return {
    ...seen,
    message: clipped(seen.message),
    uuid: before?.uuid ?? seen.uuid,
    count: (before?.count ?? 0) + 1,
    firstAt: before === undefined || before.count === 0 ? seen.at : before.firstAt,
    lastAt: seen.at,
    isOver: false,
    isRenewed: before?.isOver === true || before?.isRenewed === true,
  };
}

export function nowOver(
  before: Sighting | undefined,
  over: Pick<Sighting, 'type' | 'entity' | 'uuid' | 'at'>,
): Sighting {
  const none = { count: 0, firstAt: over.at, lastAt: over.at, message: '', isRenewed: false };
  return {
    ...none,
    ...before,
    type: over.type,
    uuid: before?.uuid ?? over.uuid,
    at: over.at,
    isOver: true,
    ...entityOf(over),
  };
}

/** Merges two successive sightings. */
export function joined(first: Sighting, then: Sighting | undefined): Sighting {
  if (then === undefined) return first;
  const isSeen = then.count > 0;
  return {
    ...then,
    uuid: first.uuid,
    count: first.count + then.count,
    firstAt: first.count > 0 ? first.firstAt : then.firstAt,
    lastAt: isSeen ? then.lastAt : first.lastAt,
    message: isSeen ? then.message : first.message,
    isRenewed: then.isRenewed || first.isRenewed || (first.isOver && isSeen),
  };
}

/** The document after the sighting; the same one if nothing changes, undefined if there is no warning. */
export function nextWarning(document: WarningDocument | undefined, sighting: Sighting): WarningDocument | undefined {
  const { type, count, at, isOver, isRenewed } = sighting;
  if (count === 0 && (document === undefined || document.status === 'resolved')) return document;
  const { text, severity } = warningTypes[type];
  const isNew = document === undefined || document.status === 'resolved' || isRenewed;
  return {
    v: 1,
    type: text,
    severity,
    status: isOver ? 'resolved' : isNew ? 'new' : document.status,
    count: (document?.count ?? 0) + count,
    firstSeenAt: document?.firstSeenAt ?? sighting.firstAt,
    lastSeenAt: count === 0 && document !== undefined ? document.lastSeenAt : sighting.lastAt,
    lastMessage: count === 0 && document !== undefined ? document.lastMessage : sighting.message,
    updatedAt: at,
    ...entityOf(sighting),
  };
}

const entityOf = ({ entity }: Pick<Sighting, 'entity'>): { readonly entity?: WarningEntity } =>
  entity === undefined ? {} : { entity };

export const isExpired = ({ status, updatedAt }: WarningDocument, nowMs: number): boolean =>
  status === 'resolved' && nowMs - Date.parse(updatedAt) >= keptMs;

/** The ones to remove: resolved first, then less severe, then least recently seen. */
export function surplus<T extends { readonly document: WarningDocument }>(
  all: readonly T[],
  max = maxWarnings,
): readonly T[] {
  if (all.length <= max) return [];
  const ranked = all.map((each) => ({ each, rank: rankOf(each.document), seen: each.document.lastSeenAt }));
  ranked.sort((a, b) => a.rank - b.rank || (a.seen < b.seen ? -1 : a.seen > b.seen ? 1 : 0));
  return ranked.slice(0, all.length - max).map(({ each }) => each);
}

const severities = ['low', 'moderate', 'high'];

function rankOf({ status, severity }: WarningDocument): number {
  return status === 'resolved' ? -1 : severities.indexOf(severity);
}
