// Storage volume endpoints: requests to use cases and back.
import { errors } from '../../api/errors.ts';
import { projectOf } from '../../api/project/project-names.ts';
import type { Operation } from '../../api/operation.ts';
import type { Migrations } from '../../services/migration/migrations.ts';
import type { VolumeSnapshots } from '../../services/storage/volume-snapshots.ts';
import type { Volumes } from '../../services/storage/volumes.ts';
import {
  async_,
  collection,
  done,
  isOfAllProjects,
  movedTo,
  recursionOf,
  sync,
  type RouteReply,
  type RouteTable,
  type ContextOf,
  type WithParams,
} from '../route.ts';

/** Lists of clients of LXD have the snapshots of all volumes (real system section 29). */
export function volumeRoutes(volumes: Volumes, snapshots: VolumeSnapshots, migrations: Migrations, dialect: string) {
  const all = dialect === 'lxd' ? 'all' : undefined;
  const list = async (context: ContextOf<'volumes.list'>, type?: string): Promise<RouteReply> => {
    const { pool } = context.params;
    const project = isOfAllProjects(context.query) ? undefined : context.caller.project;
    const { lists } = volumes;
    return sync(
      recursionOf(context.query) > 0
        ? await lists.list(pool, project, type, all)
        : await lists.urls(pool, project, type, all),
    );
  };
  const create = async (context: ContextOf<'volumes.create'>, type: string | undefined): Promise<RouteReply> => {
    const body = context.body;
    if (body.source?.type === 'migration')
      return async_(migrations.receiveVolume(context.caller, context.params.pool, type, body));
    const from = context.namesOf(body.source?.project);
    return orDone(await volumes.create(context.caller, context.params.pool, type, body, from));
  };
  return {
    'volumes.list': (context) => list(context),
    'volumes.listType': (context) => list(context, context.params.type),
    'volumes.create': (context) => create(context, context.body.type),
    'volumes.createType': (context) => create(context, context.params.type),
    'volumes.get': async (context) => {
      const { object, etag } = await volumes.get(...place(context));
      return sync(object, etag);
    },
    'volumes.put': async (context) => {
      await volumes.put(context.caller, ...place(context), context.body, context.ifMatch);
      return done;
    },
    'volumes.patch': async (context) => {
      await volumes.patch(context.caller, ...place(context), context.body, context.ifMatch);
      return done;
    },
    'volumes.delete': async (context) => {
      await volumes.delete(context.caller, ...place(context));
      return done;
    },
    'volumes.post': async (context) => {
      const body = context.body;
      const pool = context.params.pool;
      if (body.migration === true) {
        const volume = { pool, name: context.params.name };
        return async_(migrations.sendVolume(context.params.type, volume, body));
      }
      const target = body.pool === undefined || body.pool === '' ? pool : body.pool;
      const to = { pool: target, name: context.namesOf(body.project).volume(body.name) };
      if (to.pool !== pool || projectOf(to.name) !== projectOf(context.params.name))
        return async_(volumes.move(context.caller, ...place(context), to));
      return movedTo(await volumes.rename(context.caller, ...place(context), body.name));
    },
    'volumeSnapshots.list': (context) =>
      collection(
        context.query,
        () => snapshots.urls(custom(context)),
        () => snapshots.list(custom(context)),
      ),
    'volumeSnapshots.create': (context) => async_(snapshots.create(context.caller, custom(context), context.body)),
    'volumeSnapshots.get': (context) => {
      const { object, etag } = snapshots.get(custom(context), context.params.snapshot);
      return sync(object, etag);
    },
    'volumeSnapshots.put': (context) =>
      async_(snapshots.put(context.caller, custom(context), context.params.snapshot, context.body, context.ifMatch)),
    'volumeSnapshots.post': (context) =>
      async_(snapshots.rename(context.caller, custom(context), context.params.snapshot, context.body.name)),
    'volumeSnapshots.delete': (context) =>
      async_(snapshots.delete(context.caller, custom(context), context.params.snapshot)),
  } satisfies Partial<RouteTable>;
}

const place = ({ params }: WithParams<'pool' | 'type' | 'name'>): [pool: string, type: string, name: string] => [
  params.pool,
  params.type,
  params.name,
];

function custom(context: WithParams<'pool' | 'type' | 'name'>): { readonly pool: string; readonly name: string } {
  const [pool, type, name] = place(context);
  if (type !== 'custom') throw errors.badRequest('Only custom storage volumes have snapshots of their own');
  return { pool, name };
}

const orDone = (operation: Operation | undefined): RouteReply => (operation === undefined ? done : async_(operation));
