// Creates networks and pools in clusters: first on each member, with the keys of that member, then on the cluster.
import type { ClusterMember } from '../../../server/api/cluster/cluster.ts';
import { isClustered, needCluster, type Link } from '../../connection/link.ts';
import { objectMap, textMap, type StateOf, type TextMap } from '../../framework/attribute.ts';
import { DiagnosticError, failure, warning, type Diagnostic } from '../../framework/diagnostic.ts';
import { at } from '../../framework/path.ts';
import type { Context, CreateContext } from '../../framework/object-type.ts';
import { hint } from '../../../server/api/text/nearest-word.ts';
import type { Static } from 'typebox';
import type { WriteOptions } from '../../../server/client/client.ts';
import type { Reply } from '../../../server/client/transport/reply.ts';
import { otherMap, present } from './config-maps.ts';
import { performCreate } from './write.ts';

const override = { config: textMap({ doc: 'Config keys of this member; they override `config`.', required: true }) };

export const memberOverridesAttribute = objectMap(override, {
  doc: 'In a cluster: config of single members, by member name. Set at creation only; a change replaces the object.',
  // Null: the state may not know them, as after an import.
  replace: (before, after) => before !== null && otherMap(before, after),
});
export type Overrides = Readonly<Record<string, StateOf<typeof override>>>;

/** A warning when an object whose state has no overrides gets them: they are noted, and the object stays. */
export function notedOverrides(
  what: string,
  prior: { readonly name: string; readonly member_overrides: Overrides | null } | null,
  { member_overrides: planned }: { readonly member_overrides: unknown },
): readonly Diagnostic[] {
  if (prior === null || prior.member_overrides !== null) return [];
  if (planned === null || typeof planned !== 'object' || Object.keys(planned).length === 0) return [];
  const detail =
    'Its original member_overrides are unknown, so the state takes the new ones and nothing else changes. To create it again with them, use terraform apply -replace.';
  return [warning(`The ${what} ${prior.name} stays as it is`, detail, at('member_overrides'))];
}

interface Planned {
  readonly config: TextMap | null;
  readonly member_overrides: Overrides | null;
}

/**
 * `send` with a target creates it on one member, without a target on the cluster. Keys of a single member go only to that member:
 * `isOfMember` says which.
 */
export async function createOnMembers(
  context: CreateContext<Link>,
  { config: planned, member_overrides: overrides }: Planned,
  isOfMember: (key: string) => boolean,
  send: (config: Record<string, string>, write: WriteOptions) => Promise<Reply<unknown>>,
): Promise<void> {
  if (Object.keys(overrides ?? {}).length > 0) needCluster(context.client, 'take member_overrides');
  const create = (config: Record<string, string>, write: WriteOptions = {}) =>
    performCreate(context, () => send(config, write));
  const config = present(planned ?? {});
  if (!isClustered(context.client)) {
    await create(config);
    return;
  }
  const members = await memberNames(context);
  for (const name of Object.keys(overrides ?? {})) {
    if (members.includes(name)) continue;
    const detail = `Its members are ${members.join(', ')}${hint(name, members)}.`;
    throw new DiagnosticError([
      failure(`The cluster has no member ${name}`, detail, at('member_overrides', { key: name })),
    ]);
  }
  const own = Object.fromEntries(Object.entries(config).filter(([key]) => isOfMember(key)));
  const common = Object.fromEntries(Object.entries(config).filter(([key]) => !isOfMember(key)));
  for (const target of members) await create({ ...own, ...overrides?.[target]?.config }, { target });
  await create(common);
}

export async function memberNames({ client, signal }: Context<Link>): Promise<readonly string[]> {
  type Member = Static<typeof ClusterMember>;
  const call = { method: 'GET', path: '/1.0/cluster/members', query: { recursion: 1 } } as const;
  const { metadata } = await client.client.http.send<readonly Member[]>(call, signal);
  return metadata.map(({ server_name }) => server_name);
}
