// gantry_snapshot: the state of a container at one moment.
import { listInside } from '../shared/listing.ts';
import { snapshotName } from '../../../server/api/names.ts';
import type { Snapshot } from '../../../server/api/container/snapshot.ts';
import { isNotFound } from '../../../server/client/client-error.ts';
import type { Link } from '../../connection/link.ts';
import { flag, text, type StateOf } from '../../framework/attribute.ts';
import type { Context } from '../../framework/object-type.ts';
import { deletePath, readPath, segment } from '../shared/read-by-path.ts';
import { importByParts } from '../shared/import-ids.ts';
import { gantryResource, nameAttribute } from '../shared/common-attributes.ts';
import { otherOwner, renamePath } from '../shared/rename.ts';
import { expiryAttribute, never, shownExpiry } from '../shared/snapshot-expiry.ts';
import { checkPlanned, perform, performCreate } from '../shared/write.ts';
import { inTurn } from './container-queue.ts';
import { bornKey, containerPath, formerKey, planHolder, readHolder } from './holder.ts';

const attributes = {
  container: text({ doc: 'Name of the container. A renamed container keeps the snapshot.', required: true }),
  name: nameAttribute('Name of the snapshot.', snapshotName),
  stateful: flag({ doc: 'Whether it includes the memory of running processes.', default: false, replace: true }),
  expires_at: expiryAttribute('container'),
  created_at: text({ doc: 'Time of creation.', computed: true, keep: true }),
};
type State = StateOf<typeof attributes>;
const pathOf = ({ container, name }: Pick<State, 'container' | 'name'>): string =>
  `${containerPath(container)}/snapshots/${segment(name)}`;

export const snapshot = gantryResource({
  typeName: 'gantry_snapshot',
  doc: 'A snapshot of a container: its root file system and config at one moment. Deleting the container deletes it; after a replacement of the container the next apply takes it again.',
  attributes,
  identity: ['container', 'name'],
  listing: listInside({
    label: 'snapshot',
    holder: 'container',
    attribute: 'container',
    path: (container) => `${containerPath(container)}/snapshots`,
  }),
  importing: importByParts(['container', 'name'], 'web/before-upgrade'),
  async read(state, context) {
    let { container } = state;
    delete context.privateData[formerKey];
    let found = (await readPath<Snapshot>(context, pathOf(state)))?.metadata;
    if (found === undefined || context.privateData[bornKey] === undefined) {
      container = (await readHolder(context, container))?.object.name ?? container;
      if (container !== state.container)
        found = (await readPath<Snapshot>(context, pathOf({ ...state, container })))?.metadata;
    }
    const renamed = found === undefined ? await findRenamed(context, container, state.created_at) : undefined;
    found ??= renamed;
    if (found === undefined) return null;
    const { stateful, expires_at: expires, created_at: created } = found;
    // LXD writes the container before it in lists.
    const name = renamed?.name.split('/').at(-1) ?? state.name;
    return { container, name, stateful, expires_at: shownExpiry(expires, state.expires_at), created_at: created };
  },
  async create({ planned }, context) {
    const { http } = context.client.client;
    const { name, stateful, expires_at: expires } = planned;
    const json = { name, stateful: stateful ?? false, ...(expires === null ? {} : { expires_at: expires }) };
    const path = `${containerPath(planned.container)}/snapshots`;
    await inTurn(context.client, planned.container, () =>
      performCreate(context, () => http.send({ method: 'POST', path, json }, context.signal)),
    );
  },
  plan: planHolder,
  update: ({ planned }, prior, context) =>
    inTurn(context.client, planned.container, () => change(planned, prior, context)),
  delete: (prior, context) =>
    inTurn(context.client, prior.container, async () => {
      const found = await readPath<Snapshot>(context, pathOf(prior));
      if (found !== undefined) checkPlanned(`snapshot ${prior.name}`, prior, found.metadata);
      await deletePath(context, pathOf(prior));
    }),
});

/** A snapshot that was renamed without the state knowing it: a rename keeps its time of creation. */
async function findRenamed(context: Context<Link>, container: string, born: string | null) {
  if (born === null) return undefined;
  const call = { method: 'GET', path: `${containerPath(container)}/snapshots`, query: { recursion: 1 } } as const;
  try {
    const { metadata } = await context.client.client.http.send<readonly Snapshot[] | null>(call, context.signal);
    const [renamed, ...others] = (metadata ?? []).filter(({ created_at: time }) => time === born);
    return others.length > 0 ? undefined : renamed;
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}

async function change(planned: State, prior: State, context: Context<Link>): Promise<void> {
  const { http } = context.client.client;
  const here = { container: planned.container, name: prior.name };
  if (planned.container !== prior.container) {
    const found = await readPath<Snapshot>(context, pathOf(here));
    if (found?.metadata.created_at !== prior.created_at)
      throw otherOwner(`snapshot ${prior.name}`, 'container', planned.container);
  }
  if (planned.expires_at !== prior.expires_at) {
    const json = { expires_at: planned.expires_at ?? never };
    await perform(context, () => http.send({ method: 'PUT', path: pathOf(here), json }, context.signal));
  }
  await renamePath(context, pathOf(here), prior, planned);
}
