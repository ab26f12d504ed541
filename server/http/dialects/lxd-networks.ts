// Networks that LXD clients see from a restricted project: those that its containers may use. Others seem not to exist, as in LXD.
import { errors } from '../../api/errors.ts';
import { isRestricted, mayUseNetwork } from '../../api/project/project-restrictions.ts';
import type { ConfigMap } from '../../api/schema/common-schemas.ts';
import { handlerOf, type RouteContext, type RouteHandler, type RouteTable } from '../route.ts';

const ofOne: readonly (keyof RouteTable)[] = [
  'networks.get',
  'networks.put',
  'networks.patch',
  'networks.post',
  'networks.delete',
  'networks.state',
  'networks.leases',
];

export function networksOfProjects(routes: RouteTable): Partial<RouteTable> {
  const [list, get] = [handlerOf(routes, 'networks.list'), handlerOf(routes, 'networks.get')];
  const project = handlerOf(routes, 'projects.get');
  if (list === undefined || get === undefined || project === undefined) return {};
  const configOf = async (context: RouteContext): Promise<ConfigMap> => {
    const reply = await project(withPart(context, 'params', { name: context.caller.project }));
    return reply.kind === 'sync' ? (reply.metadata as { readonly config: ConfigMap }).config : {};
  };
  const checked =
    (handler: RouteHandler): RouteHandler =>
    async (context) => {
      const config = await configOf(context);
      const { name = '' } = context.params;
      if (isRestricted(config)) {
        const found = await get(context);
        if (found.kind !== 'sync' || !isSeen(config, found.metadata)) throw errors.notFound('network', name);
      }
      return handler(context);
    };
  const each = ofOne.flatMap((id) => {
    const handler = handlerOf(routes, id);
    return handler === undefined ? [] : [[id, checked(handler)] as const];
  });
  return { ...Object.fromEntries(each), 'networks.list': listed(list, configOf) };
}

function listed(list: RouteHandler, configOf: (context: RouteContext) => Promise<ConfigMap>): RouteHandler {
  return async (context) => {
    const [config, reply] = [await configOf(context), await list(context)];
    if (reply.kind !== 'sync' || !Array.isArray(reply.metadata)) return reply;
    const full = await list(withPart(context, 'query', { ...context.query, recursion: '1' }));
    const objects = full.kind === 'sync' && Array.isArray(full.metadata) ? full.metadata : [];
    const seen = new Set(objects.filter((object) => isSeen(config, object)).map(({ name }: { name: string }) => name));
    return { ...reply, metadata: reply.metadata.filter((shown) => seen.has(nameIn(shown))) };
  };
}

/** Host interfaces only if the project may have any nic. */
function isSeen(config: ConfigMap, network: unknown): boolean {
  const { name, managed } = network as { readonly name: string; readonly managed: boolean };
  const isOpen = !isRestricted(config) || config['restricted.devices.nic'] === 'allow';
  return mayUseNetwork(config, name) && (managed || isOpen);
}

const nameIn = (shown: unknown): string =>
  typeof shown === 'string'
    ? decodeURIComponent(shown.split('?')[0]?.split('/').at(-1) ?? '')
    : (shown as { readonly name: string }).name;

/** Wraps the context instead of copying it: its members are getters. */
const withPart = (context: RouteContext, part: 'params' | 'query', value: object): RouteContext =>
  Object.create(context, { [part]: { value } }) as RouteContext;
