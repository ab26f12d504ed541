// Container endpoints: requests to use cases and back.
import type { ContainerCreate, ContainerPost } from '../../api/container/container.ts';
import { errors } from '../../api/errors.ts';
import { createContainer } from '../../services/containers/create/create.ts';
import { moveContainer, renameContainer } from '../../services/containers/move/move.ts';
import { putState } from '../../services/containers/power/start-stop.ts';
import type { ContainerReader } from '../../services/containers/reader.ts';
import { deleteContainer } from '../../services/containers/remove/remove.ts';
import type { StateDeps } from '../../services/containers/shared/state-deps.ts';
import { patchContainer, putContainer } from '../../services/containers/update/update.ts';
import { containerUrl } from '../../api/project/project-names.ts';
import { moveToMember } from '../../services/cluster/moves/move-live.ts';
import { isOnOtherMember, type MoveDeps } from '../../services/cluster/moves/moves.ts';
import type { MemberCopies } from '../../services/cluster/member-copies.ts';
import { migrateContainer } from '../../services/transfer/migration/container-source.ts';
import { createByTransfer, type MigrationDeps } from '../../services/transfer/migration/migrations.ts';
import {
  async_,
  type ContextOf,
  doneAfter,
  listedProject,
  recursionOf,
  type RouteReply,
  type RouteTable,
  sync,
} from '../route.ts';
import { isOctets } from '../request-body.ts';

interface ContainerUseCases {
  readonly containers: ContainerReader;
  readonly containerDeps: StateDeps;
  readonly migrationDeps: MigrationDeps;
  readonly memberCopies: MemberCopies;
  readonly moveDeps: MoveDeps;
  readonly restore: (context: ContextOf<'containers.create'>) => Promise<RouteReply>;
}

/** A target group becomes the container's group. */
function inGroup(body: ContainerCreate, target = ''): ContainerCreate {
  if (!target.startsWith('@')) return body;
  return { ...body, config: { ...body.config, 'volatile.cluster.group': target.slice(1) } };
}

export function containerRoutes(useCases: ContainerUseCases) {
  const { containers, containerDeps, migrationDeps, memberCopies, moveDeps, restore } = useCases;
  const { view } = containerDeps;
  return {
    'containers.list': async ({ query, caller }) => {
      const project = listedProject(query, caller);
      const recursion = recursionOf(query);
      if (recursion >= 2) return sync(await containers.listFull(project));
      return sync(recursion === 1 ? view.renderAll(project) : view.names(project).map((name) => containerUrl(name)));
    },
    'containers.create': async (context) => {
      const { caller, body } = context;
      if (isOctets(context.request)) return restore(context);
      const wanted = inGroup(await memberCopies.creationHere(caller, body), context.query.target);
      return async_(
        createByTransfer(migrationDeps, caller, wanted) ?? (await createContainer(containerDeps, caller, wanted)),
      );
    },
    'containers.get': async (context) => {
      const name = context.params.name;
      const { object, etag } = recursionOf(context.query) > 0 ? await containers.getFull(name) : containers.get(name);
      return sync(object, etag);
    },
    'containers.put': async (context) =>
      async_(await putContainer(containerDeps, context.caller, context.params.name, context.body, context.ifMatch)),
    'containers.patch': (context) =>
      doneAfter(patchContainer(containerDeps, context.caller, context.params.name, context.body, context.ifMatch)),
    'containers.post': async (context) => {
      const body = context.body;
      const { target = '' } = context.query;
      if (body.migration === true && isOnOtherMember(moveDeps.cluster, target))
        return async_(await moveToMember(moveDeps, context.caller, context.params.name, target, body));
      if (isMoveHere(body)) return async_(moveContainer(containerDeps, context.caller, context.params.name, body));
      if (body.migration === true)
        return async_(await migrateContainer(migrationDeps, context.caller, context.params.name, body));
      if (body.name === undefined) throw errors.invalid('rename', [{ path: 'name', message: 'is required' }]);
      return async_(renameContainer(containerDeps, context.caller, context.params.name, body.name));
    },
    'containers.delete': (context) => async_(deleteContainer(containerDeps, context.caller, context.params.name)),
    'containers.state.get': async (context) => sync(await containers.state(context.params.name)),
    'containers.state.put': (context) =>
      async_(putState(containerDeps, context.caller, context.params.name, context.body)),
  } satisfies Partial<RouteTable>;
}

/** Clients of newer releases send the members empty for no change. */
const isMoveHere = ({ pool = '', project = '' }: ContainerPost): boolean => pool !== '' || project !== '';
