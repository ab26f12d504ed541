// Networks and pools of clusters: derives the config of each member at creation from `config` and `member_overrides`, and finds
// problems of the overrides. Pure.
import { hint } from '../../../server/api/text/nearest-word.ts';
import { isMemberKey, isMemberKind } from '../../../server/api/cluster/cluster-member-keys.ts';
import { lackOfCluster } from '../../../server/api/server/capability.ts';
import { incapable } from './capability-messages.ts';
import type { Diagnostic } from '../documents/diagnostic.ts';
import type { Document, JsonObject } from '../documents/document.ts';
import { mapOf, presentTexts, textOf } from '../documents/json-values.ts';
import type { Observed } from '../documents/observed.ts';

/** Adds `member_overrides` for every member, and removes the keys of `config` that only members take. */
export function bodyForMembers({ kind }: Document, body: JsonObject, { members }: Observed): JsonObject {
  if (members === undefined || !isMemberKind(kind)) return body;
  const config = Object.entries(presentTexts(body['config']));
  const own = Object.fromEntries(config.filter(([key]) => isMemberKey(kind, key)));
  const common = Object.fromEntries(config.filter(([key]) => !isMemberKey(kind, key)));
  const overrides = mapOf(body['member_overrides']);
  const all = [...members.keys()].map((name) => [name, { ...own, ...mapOf(overrides[name]) }] as const);
  return { ...body, config: common, member_overrides: Object.fromEntries(all) };
}

/** The member for a new container or volume: the target of its document, otherwise the member of the container that it replaces. */
export function targetOf(
  document: Document,
  live: object | undefined,
  { members }: Observed,
): { readonly target?: string } {
  if (!isPlaced(document) || members === undefined) return {};
  const location = textOf((live as JsonObject | undefined)?.['location']);
  // An evacuated container stays where it is: the member that its document names accepts none now.
  const isAway = textOf(mapOf((live as JsonObject | undefined)?.['config'])['volatile.evacuate.origin']) !== undefined;
  const named = isAway ? undefined : textOf(document.values['target']);
  const target = named ?? (location === 'none' ? undefined : location);
  return target === undefined ? {} : { target };
}

/** Kinds whose objects are on one member only. */
export const isPlaced = ({ kind }: Pick<Document, 'kind'>): boolean =>
  kind === 'container' || kind === 'storage_volume';

export function memberProblems(object: Document, { members }: Observed): readonly Diagnostic[] {
  const overrides = Object.keys(mapOf(object.values['member_overrides']));
  const target = isPlaced(object) ? textOf(object.values['target']) : undefined;
  const path = overrides.length > 0 ? 'member_overrides' : 'target';
  if (overrides.length === 0 && target === undefined) return [];
  const lack = lackOfCluster(members !== undefined);
  if (lack !== undefined) return [incapable(object, path, `take ${path}`, lack)];
  const named = target === undefined ? overrides : [...overrides, target];
  const names = [...(members?.keys() ?? [])];
  const strange = named.filter((name) => !(name.startsWith('@') ? isGroup(name, members) : names.includes(name)));
  return strange.map((name) => ({
    severity: 'error',
    code: 'unknown-member',
    address: object.address,
    path: path === 'target' ? path : `${path}.${name}`,
    message: `${object.address}: the cluster has no ${name.startsWith('@') ? `group with members ${name}` : `member ${name}`}${hint(name, names)}`,
    remedy: `its members are ${names.join(', ')}`,
    ...object.location,
  }));
}

/** True of a group with members, and of any group on a server that does not list groups. */
const isGroup = (target: string, members: Observed['members']): boolean =>
  [...(members?.values() ?? [])].some(({ groups }) => groups === undefined || groups.includes(target.slice(1)));
