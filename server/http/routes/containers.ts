// Container endpoints: requests to use cases and back.
import type { ContainerCreate, ContainerPost, ContainerPut, ContainerStatePut } from '../../api/container/container.ts';
import { errors } from '../../api/errors.ts';
import type { Containers } from '../../services/containers/containers.ts';
import { containerUrl } from '../../api/names.ts';
import type { Migrations } from '../../services/migration/migrations.ts';
import {
  async_,
  done,
  param,
  recursionOf,
  sync,
  type RouteContext,
  type RouteReply,
  type RouteTable,
} from '../route.ts';
import { isBackupUpload } from './backups.ts';

export function containerRoutes(
  containers: Containers,
  migrations: Migrations,
  restore: (context: RouteContext) => Promise<RouteReply>,
): RouteTable {
  return {
    'containers.list': async ({ query }) => {
      const recursion = recursionOf(query);
      if (recursion >= 2) return sync(await containers.listFull());
      return sync(recursion === 1 ? containers.list() : containers.names().map(containerUrl));
    },
    'containers.create': (context) => {
      const { caller, body } = context;
      if (isBackupUpload(context.request)) return restore(context);
      const wanted = body as ContainerCreate;
      return async_(migrations.createContainer(caller, wanted) ?? containers.create(caller, wanted));
    },
    'containers.get': async (context) => {
      const name = param(context, 'name');
      const { object, etag } = recursionOf(context.query) > 0 ? await containers.getFull(name) : containers.get(name);
      return sync(object, etag);
    },
    'containers.put': (context) =>
      async_(containers.put(context.caller, param(context, 'name'), context.body as ContainerPut, context.ifMatch)),
    'containers.patch': async (context) => {
      await containers.patch(context.caller, param(context, 'name'), context.body as ContainerPut, context.ifMatch);
      return done;
    },
    'containers.post': async (context) => {
      const body = context.body as ContainerPost;
      if (isMoveHere(body)) return async_(containers.move(context.caller, param(context, 'name'), body));
      if (body.migration === true)
        return async_(await migrations.sendContainer(context.caller, param(context, 'name'), body));
      if (body.name === undefined) throw errors.invalid('rename', [{ path: 'name', message: 'is required' }]);
      return async_(containers.rename(context.caller, param(context, 'name'), body.name));
    },
    'containers.delete': (context) => async_(containers.delete(context.caller, param(context, 'name'))),
    'containers.state.get': async (context) => sync(await containers.state(param(context, 'name'))),
    'containers.state.put': (context) =>
      async_(containers.putState(context.caller, param(context, 'name'), context.body as ContainerStatePut)),
  };
}

/** Clients of newer releases send the members empty when nothing is meant. */
const isMoveHere = ({ pool = '', project = '' }: ContainerPost): boolean => pool !== '' || project !== '';
