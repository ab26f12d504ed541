// gantry_cluster_member: adopts, renames and removes a member of the server's cluster. Joining happens on the host.
import type { Static } from 'typebox';
import type { ClusterMember } from '../../server/api/cluster/cluster.ts';
import { needCluster, needExtension, type Link } from '../connection/link.ts';
import { flag, text } from '../framework/attribute.ts';
import { DiagnosticError, failure } from '../framework/diagnostic.ts';
import { at } from '../framework/path.ts';
import type { Context } from '../framework/object-type.ts';
import { readPath, segment } from './shared/read-by-path.ts';
import { serverResource } from './shared/common-attributes.ts';
import { perform, performDelete } from './shared/write.ts';
import { importByWhole } from './shared/import-ids.ts';

const attributes = {
  name: text({ doc: 'Name of the member. Another name renames it.', required: true }),
  force: flag({ doc: 'Whether destroy also removes a member that does not answer.', default: false }),
  url: text({ doc: 'Its address.', computed: true, keep: true }),
  status: text({ doc: 'Online, Offline.', computed: true }),
  database: flag({ doc: 'Whether it holds a copy of the database.', computed: true }),
};
type Live = Static<typeof ClusterMember>;
const pathOf = (name: string): string => `/1.0/cluster/members/${segment(name)}`;

function need(link: Link): void {
  needExtension(link, 'clustering', 'manage cluster members');
  needCluster(link, 'manage cluster members');
}

async function found(context: Context<Link>, name: string): Promise<Live> {
  const reply = await readPath<Live>(context, pathOf(name));
  if (reply !== undefined) return reply.metadata;
  const detail = 'A server joins by itself, with its own configuration; this resource manages existing members.';
  throw new DiagnosticError([failure(`The cluster has no member ${name}`, detail, at('name'))]);
}

export const clusterMember = serverResource({
  typeName: 'gantry_cluster_member',
  doc: 'A member of the cluster. The server must be clustered. Members join by themselves; this resource adopts, renames and removes them.',
  attributes,
  identity: ['name'],
  importing: importByWhole('name', 'node2'),
  async read(state, context) {
    need(context.client);
    const reply = await readPath<Live>(context, pathOf(state.name));
    if (reply === undefined) return null;
    const { url, status, database } = reply.metadata;
    return { url, status, database, force: state.force ?? false };
  },
  async create({ planned }, context) {
    need(context.client);
    // Nothing was made: a failure must not leave it tainted, since the next apply would remove the member from the cluster.
    await found(context, planned.name);
  },
  async update({ planned }, prior, context) {
    if (planned.name === prior.name) return;
    const { http } = context.client.client;
    const json = { server_name: planned.name };
    await perform(context, () => http.send({ method: 'POST', path: pathOf(prior.name), json }, context.signal));
  },
  async delete(prior, context) {
    const { http } = context.client.client;
    const query = prior.force === true ? { query: { force: 1 } } : {};
    await performDelete(context, () =>
      http.send({ method: 'DELETE', path: pathOf(prior.name), json: {}, ...query }, context.signal),
    );
  },
});
