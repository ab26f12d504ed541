// What clusters ask of networks and pools: each member hears of it first, with the keys of its own, then the cluster makes it.
import type { ClusterMember } from '../../server/api/cluster.ts';
import { isClustered, needCluster, type Link } from '../connection/link.ts';
import { objectMap, textMap, type StateOf } from '../framework/attribute.ts';
import { DiagnosticError, failure } from '../framework/diagnostic.ts';
import { at } from '../framework/path.ts';
import type { Context } from '../framework/provider.ts';
import { hint } from '../../server/api/nearest.ts';
import type { Static } from 'typebox';

const override = {
  config: textMap({ doc: 'Config keys of this member, over those in `config`.', required: true }),
};

export const memberOverridesAttribute = objectMap(override, {
  doc: 'In a cluster: config of single members, by their names. Told at creation only.',
  replace: true,
});
type Overrides = Readonly<Record<string, StateOf<typeof override>>>;

export function memberProblems(link: Link, overrides: Overrides | null): void {
  if (overrides !== null && Object.keys(overrides).length > 0) needCluster(link, 'take member_overrides');
}

/** `send` with a target tells one member, without it the whole. Keys that `ownKeys` matches go to members only. */
export async function createOnMembers(
  context: Context<Link>,
  overrides: Overrides | null,
  config: Readonly<Record<string, string>>,
  ownKeys: RegExp,
  send: (part: { readonly config: Record<string, string> }, target?: string) => Promise<unknown>,
): Promise<void> {
  if (!isClustered(context.client)) {
    await send({ config });
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
  const own = Object.fromEntries(Object.entries(config).filter(([key]) => ownKeys.test(key)));
  const common = Object.fromEntries(Object.entries(config).filter(([key]) => !ownKeys.test(key)));
  for (const name of members) await send({ config: { ...own, ...overrides?.[name]?.config } }, name);
  await send({ config: common });
}

async function memberNames({ client, signal }: Context<Link>): Promise<readonly string[]> {
  type Member = Static<typeof ClusterMember>;
  const call = { method: 'GET', path: '/1.0/cluster/members', query: { recursion: 1 } } as const;
  const { metadata } = await client.client.http.send<readonly Member[]>(call, signal);
  return metadata.map(({ server_name }) => server_name);
}
