// Config keys of networks and pools that each member of a cluster has for itself. Servers show and take them for one member only: the
// state keeps the written values, and a change goes to the members, as far as they have another value.
import { isMemberKey, type MemberKind } from '../../../server/api/cluster/cluster-member-keys.ts';
import { sameText } from '../../../server/api/text/equality.ts';
import { isClustered, isGantry, type Link } from '../../connection/link.ts';
import type { TextMap } from '../../framework/attribute.ts';
import type { Context } from '../../framework/object-type.ts';
import type { MapRules } from './config-maps.ts';
import { memberNames, type Overrides } from './member-overrides.ts';
import { perform } from './write.ts';

/** Outside a cluster, none. LXD has one name in Ceph for all members. */
export const keysOfMembers =
  (link: Link, kind: MemberKind) =>
  (key: string): boolean =>
    isClustered(link) && isMemberKey(kind, key) && (isGantry(link) || !key.startsWith('ceph'));

/** The same rules, by which the state keeps what the server does not show. */
export function rulesFor(link: Link, kind: MemberKind, rules: MapRules): MapRules {
  const isOfMembers = keysOfMembers(link, kind);
  return { ...rules, isProvenance: (key) => isOfMembers(key) || rules.isProvenance?.(key) === true };
}

/** Writes the description of a new object: a cluster of LXD ignores the one of its creation. */
export async function describeInCluster(
  context: Context<Link>,
  kind: MemberKind,
  { name, description }: { readonly name: string; readonly description: string },
): Promise<void> {
  const { client, signal } = context;
  if (description === '' || !isClustered(client) || isGantry(client)) return;
  await perform(context, () => client.client.patch(kind, name, { description }, {}, signal));
}

interface MemberConfig {
  readonly config: TextMap | null;
  readonly member_overrides: Overrides | null;
}

/** Changes these keys on every member that has another value and no override. `isFixed`: keys that stay as they are. */
export async function changeOnMembers(
  context: Context<Link>,
  kind: MemberKind,
  name: string,
  { prior, planned }: { readonly prior: MemberConfig; readonly planned: MemberConfig },
  isFixed: (key: string, wanted: string) => boolean = () => false,
): Promise<void> {
  const { client, signal } = context;
  const isOfMembers = keysOfMembers(client, kind);
  const [before, wanted] = [prior.config ?? {}, planned.config ?? {}];
  const keys = [...new Set([...Object.keys(before), ...Object.keys(wanted)])].filter(
    (key) =>
      isOfMembers(key) && !isFixed(key, wanted[key] ?? '') && !sameText(key, before[key] ?? '', wanted[key] ?? ''),
  );
  if (keys.length === 0) return;
  for (const target of await memberNames(context)) {
    const own = planned.member_overrides?.[target]?.config ?? {};
    const { config: live, description } = (await client.client.get(kind, name, signal, target)).metadata;
    const changed = keys.filter((key) => own[key] === undefined && !sameText(key, live[key] ?? '', wanted[key] ?? ''));
    if (changed.length === 0) continue;
    const config = Object.fromEntries(changed.map((key) => [key, wanted[key] ?? '']));
    // LXD would remove a description that is left out.
    await perform(context, () => client.client.patch(kind, name, { config, description }, { target }, signal));
  }
}
