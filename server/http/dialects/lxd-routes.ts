// Endpoints that answer LXD clients with a selection or arrangement other than the spec's: filtered lists, operations by status. The use
// cases behind them are the same.
import { containerUrl, imageUrl, qualifiedName, plainName } from '../../api/project/project-names.ts';
import { errors, checkName } from '../../api/errors.ts';
import type { Operation } from '../../api/operation.ts';
import { recursionOf, sync, handlerOf, type RouteContext, type RouteHandler, type RouteTable } from '../route.ts';
import type { LongList } from '../../lib/shared/long-list.ts';
import { warningUrl } from '../../api/server/warning.ts';
import { volumeUrl } from '../../services/shared/volume-urls.ts';
import { parseFilter } from './lxd-filter.ts';
import { networksOfProjects } from './lxd-networks.ts';
import { operationWords, typed } from './lxd-spellings.ts';
import { containerName, type NameRule } from '../../api/names.ts';

export function lxdRoutes(routes: RouteTable): RouteTable {
  return {
    ...routes,
    ...replaced(routes, 'containers.list', (list) =>
      filtered(list, ({ name, project }) => containerUrl(qualifiedName(String(project), String(name)))),
    ),
    ...replaced(routes, 'containers.create', createWithName),
    ...replaced(routes, 'containers.post', renameWithName),
    ...replaced(routes, 'images.list', (list) =>
      filtered(list, ({ fingerprint, project }) => imageUrl(qualifiedName(String(project), String(fingerprint)))),
    ),
    ...replaced(routes, 'volumes.list', filteredVolumes),
    ...replaced(routes, 'volumes.listType', filteredVolumes),
    ...replaced(routes, 'warnings.list', (list) =>
      filtered(
        list,
        ({ uuid }) => warningUrl(String(uuid)),
        (warning) => warning,
      ),
    ),
    ...replaced(routes, 'operations.list', byStatus),
    ...networksOfProjects(routes),
    // LXD fails there instead of returning an empty list.
    ...replaced(routes, 'members.list', ofClustersOnly),
    ...replaced(routes, 'memberGroups.list', ofClustersOnly),
    ...replaced(routes, 'containers.templates.post', (create) => overwriting(routes, create)),
    ...replaced(routes, 'volumeSnapshots.put', whole),
  };
}

function ofClustersOnly(list: RouteHandler): RouteHandler {
  return async (context) => {
    const reply = await list(context);
    if (reply.kind === 'sync' && Array.isArray(reply.metadata) && reply.metadata.length === 0)
      throw errors.notClustered('This server is not part of a cluster');
    return reply;
  };
}

type ListItem = Readonly<Record<string, unknown>>;

/** The dialect wraps handlers before their requests are typed. */
function replaced(
  routes: RouteTable,
  id: keyof RouteTable,
  replace: (handler: RouteHandler) => RouteHandler,
): Partial<RouteTable> {
  const handler = handlerOf(routes, id);
  return handler === undefined ? {} : { [id]: replace(handler) };
}

/** The fitting objects of a list, whatever recursion the caller requested. */
async function objectsOf(
  list: RouteHandler,
  context: RouteContext,
  fits: (object: ListItem) => boolean,
): Promise<readonly ListItem[]> {
  const recursion = String(Math.max(1, recursionOf(context.query)));
  const reply = await list(withQuery(context, { recursion }));
  return reply.kind === 'sync' ? (reply.metadata as readonly ListItem[] | LongList<ListItem>).filter(fits) : [];
}

/** Wraps the context instead of copying it: its members are getters. */
function withQuery(context: RouteContext, query: RouteContext['query']): RouteContext {
  return Object.create(context, { query: { value: { ...context.query, ...query } } }) as RouteContext;
}

/** Extension api_filtering. */
function filtered(
  list: RouteHandler,
  url: (object: ListItem, context: RouteContext) => string,
  shown: (object: unknown) => unknown = typed,
): RouteHandler {
  return async (context) => {
    const text = context.query['filter'] ?? '';
    if (text.trim() === '') return list(context);
    const fits = parseFilter(text);
    const found = await objectsOf(list, context, (object) => fits(shown(object) as ListItem));
    return sync(recursionOf(context.query) > 0 ? found : found.map((object) => url(object, context)));
  };
}

/** Filters of volumes. Snapshots are listed as VOLUME/SNAPSHOT. */
const filteredVolumes = (list: RouteHandler): RouteHandler =>
  filtered(
    list,
    ({ type, name, project }, { params }) => {
      const [plain = '', ...snapshot] = String(name).split('/');
      const parts = snapshot.length === 0 ? [] : ['snapshots', ...snapshot];
      return volumeUrl(params['pool'] ?? '', String(type), qualifiedName(String(project), plain), ...parts);
    },
    (volume) => volume,
  );

/** Real system section 0: POST replaces an existing template. */
function overwriting(routes: RouteTable, create: RouteHandler): RouteHandler {
  const [list, replace] = [
    handlerOf(routes, 'containers.templates.get'),
    handlerOf(routes, 'containers.templates.put'),
  ];
  return async (context) => {
    const reply = await list?.(withQuery(context, { path: '' }));
    const names = reply?.kind === 'sync' && Array.isArray(reply.metadata) ? reply.metadata : [];
    const isThere = replace !== undefined && names.includes(context.query['path'] ?? '');
    return isThere ? replace(context) : create(context);
  };
}

/** PUT of a custom volume's snapshot replaces all of it, as measured on 5.0.2: omitted fields become empty, the expiry never. */
function whole(put: RouteHandler): RouteHandler {
  return (context) => {
    if (context.params['type'] !== 'custom') return put(context);
    const body = { description: '', expires_at: '', ...withoutNull(context.body) };
    return put(Object.create(context, { body: { value: body } }) as RouteContext);
  };
}

const withoutNull = (body: unknown): object =>
  Object.fromEntries(Object.entries(body ?? {}).filter(([, value]) => value !== null));

/** Real system section 0: lower-case status -> operations, `{}` if there are none. */
function byStatus(list: RouteHandler): RouteHandler {
  return async (context) => {
    const groups: Record<string, unknown[]> = {};
    for (const operation of await objectsOf(list, context, () => true)) {
      const { id, status } = operation as unknown as Operation;
      const shown = recursionOf(context.query) > 0 ? operationWords(operation) : `/1.0/operations/${id}`;
      (groups[status.toLowerCase()] ??= []).push(shown);
    }
    return sync(groups);
  };
}

/** Real system section 0, each measured on 5.0.2. */
const lxdContainerName: NameRule = (name) => {
  if (name.length > 63) return `must have at most 63 characters, has ${name.length}`;
  if (name.startsWith('-') || name.endsWith('-')) return 'must not start or end with a dash';
  if (/^[0-9]/.test(name)) return 'must not start with a digit';
  return /^[A-Za-z0-9-]*$/.test(name) ? containerName(name) : 'must have letters, digits and dashes only';
};

/** An existing container with such a name, from before or from Gantry's own clients, can be updated. */
function createWithName(create: RouteHandler): RouteHandler {
  return (context) => {
    const { name, source, type } = (context.body ?? {}) as Readonly<Record<'name' | 'source' | 'type', unknown>>;
    refuseMachines(type ?? '');
    const ofUpload = context.request.headers['x-lxd-name'];
    const isRefresh = (source as { readonly refresh?: unknown } | undefined)?.refresh === true;
    if (!isRefresh) refuseName(name ?? ofUpload);
    return create(context);
  };
}

/** A client that asks for a virtual machine must not get a container. */
function refuseMachines(type: unknown): void {
  if (type === '' || type === 'container') return;
  const message = `must be container: there is no type ${JSON.stringify(type)} here`;
  throw errors.invalid('container', [{ path: 'type', message }]);
}

/** It may keep its name when it moves to another pool, project or member. */
function renameWithName(change: RouteHandler): RouteHandler {
  return (context) => {
    const { name } = (context.body ?? {}) as { readonly name?: unknown };
    if (name !== plainName(context.params['name'] ?? '')) refuseName(name);
    return change(context);
  };
}

function refuseName(name: unknown): void {
  if (typeof name !== 'string' || name === '') return;
  checkName('container', name, lxdContainerName);
}
