// `gantry cluster list|show|rename|remove|evacuate|restore`: the members of a cluster.
import type { ClusterMember, ClusterMemberStatePost } from '../../../../server/api/cluster/cluster.ts';
import { yamlText } from '../../../manifest/text/yaml-text.ts';
import { usageError } from '../../errors/usage-error.ts';
import { formatOf } from '../../flags/output-flags.ts';
import { paintFor } from '../../output/paint.ts';
import { renderTable } from '../../output/table.ts';
import { withClient } from '../../session/connect.ts';
import type { Context, Run, Output, RunOf } from '../../session/context.ts';
import { followOperation } from '../../session/follow-operation.ts';
import { checkClustered, checkMembers } from './check-members.ts';
import type {
  clusterEvacuate,
  clusterList,
  clusterRemove,
  clusterRename,
  ClusterRestoreOptions,
  clusterShow,
} from './cluster-verbs.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

export const listMembers: RunOf<typeof clusterList> = async (context) => {
  const format = context.isJson ? 'json' : formatOf(context.options.output, ['table', 'yaml', 'json', 'name']);
  await withClient(context, async (client) => {
    await checkClustered(client, context.stop);
    const members = await client.cluster.members(context.stop);
    if (format === 'table') {
      const head = ['NAME', 'URL', 'STATUS', 'ROLES', 'ARCHITECTURE', 'FAILURE DOMAIN', 'MESSAGE'];
      context.out(renderTable(head, members.map(rowOf), paintFor(context.color)));
    } else if (format === 'name') for (const { server_name: name } of members) context.out(name);
    else write(context, members, format);
  });
};

const rowOf = (member: ClusterMember): readonly string[] => [
  member.server_name,
  member.url,
  member.status,
  member.roles.join(', '),
  member.architecture,
  member.failure_domain,
  member.message,
];

export const showMembers: RunOf<typeof clusterShow> = async (context, names) => {
  const format = context.isJson ? 'json' : formatOf(context.options.output, ['yaml', 'json']);
  await withClient(context, async (client) => {
    await checkMembers(client, names, context.stop);
    const found: ClusterMember[] = [];
    for (const name of names) found.push(await client.cluster.member(name, context.stop));
    write(context, found, format);
  });
};

/** JSON is one line per object with --json, one document otherwise. */
function write(context: Output, members: readonly ClusterMember[], format: 'yaml' | 'json'): void {
  const text =
    format === 'yaml'
      ? members.map((member) => `---\n${yamlText(member)}`).join('')
      : context.isJson
        ? members.map((member) => `${JSON.stringify(member)}\n`).join('')
        : `${JSON.stringify(members, null, 2)}\n`;
  context.io.stdout.write(text);
}

export const renameMember: RunOf<typeof clusterRename> = async (context, [name = '', to = '']) => {
  await withClient(context, async (client) => {
    await checkMembers(client, [name], context.stop);
    await client.cluster.rename(name, to, context.stop);
    if (context.isJson) write(context, [await client.cluster.member(to, context.stop)], 'json');
    context.out(to);
  });
};

export const removeMember: RunOf<typeof clusterRemove> = async (context, [name = '']) => {
  const isForced = context.options.force === true;
  const isEvenOnline = context.options.yes === true;
  if (isEvenOnline && !isForced) throw usageError('--yes is for --force: without it nothing of a member is lost');
  await withClient(context, async (client) => {
    await checkMembers(client, [name], context.stop);
    await followOperation(context, client, () => client.cluster.remove(name, { isForced, isEvenOnline }, context.stop));
    context.jsonObjects({ server_name: name, removed: true });
    context.out(name);
  });
};

const modes: readonly string[] = ['auto', 'migrate', 'live-migrate', 'stop'];

export const evacuateMember: RunOf<typeof clusterEvacuate> = (context, [name = '']) => {
  const { mode } = context.options;
  if (mode !== undefined && !modes.includes(mode))
    throw usageError(`--mode ${JSON.stringify(mode)} is not one of ${modes.join(', ')}`);
  return changeState(context, name, { action: 'evacuate', ...withoutUndefined({ mode }) });
};

export const restoreMember: Run<ClusterRestoreOptions> = (context, [name = '']) =>
  changeState(context, name, { action: 'restore' });

async function changeState(
  context: Context<ClusterRestoreOptions>,
  name: string,
  body: ClusterMemberStatePost,
): Promise<void> {
  const wanted = { ...body, ...(context.options.force === true ? { force: true } : {}) };
  await withClient(context, async (client) => {
    await checkMembers(client, [name], context.stop);
    await followOperation(context, client, () => client.cluster.changeState(name, wanted, context.stop));
    if (context.isJson) write(context, [await client.cluster.member(name, context.stop)], 'json');
    context.out(name);
  });
}
