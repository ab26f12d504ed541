// Storage volume endpoints: requests to use cases and back.
import { errors } from '../../api/errors.ts';
import { projectOf } from '../../api/project/project-names.ts';
import type { Operation } from '../../api/operation.ts';
import type { StorageVolumeCreate, VolumeSnapshotPut } from '../../api/storage/volume.ts';
import type { MemberVolumes } from '../../services/cluster/member-volumes.ts';
import type { MigrationDeps } from '../../services/transfer/migration/migrations.ts';
import { refreshedVolume, refreshVolume } from '../../services/transfer/migration/refresh/volumes.ts';
import { migrateVolume } from '../../services/transfer/migration/volume-source.ts';
import { receiveVolume } from '../../services/transfer/migration/volume-target.ts';
import { etagOf } from '../../services/shared/etag.ts';
import type { ContainerVolumes } from '../../services/storage/container-volumes.ts';
import { checkVolumeType } from '../../services/storage/volume-lists.ts';
import type { VolumeSnapshots } from '../../services/storage/volume-snapshots.ts';
import type { Volumes } from '../../services/storage/volumes.ts';
import { isOctets } from '../request-body.ts';
import {
  async_,
  collection,
  type ContextOf,
  done,
  doneAfter,
  listedProject,
  movedTo,
  recursionOf,
  type RouteReply,
  type RouteTable,
  sync,
  type WithParams,
} from '../route.ts';

export interface VolumeRouteServices {
  readonly volumes: Volumes;
  readonly containerVolumes: ContainerVolumes;
  readonly memberVolumes: MemberVolumes;
  readonly migrationDeps: MigrationDeps;
  readonly restore: (context: ContextOf<'volumes.createType'>) => Promise<RouteReply>;
}

/** `lxc storage volume create --type=block` requests a volume that only virtual machines can use. */
function refuseBlocks({ content_type: content = '' }: StorageVolumeCreate): void {
  if (content === '' || content === 'filesystem') return;
  const message = `must be filesystem: there are no volumes of content type ${JSON.stringify(content)} here`;
  throw errors.invalid('storage volume', [{ path: 'content_type', message }]);
}

export function volumeRoutes(services: VolumeRouteServices) {
  const { volumes, containerVolumes, memberVolumes, migrationDeps, restore } = services;
  const list = async (context: ContextOf<'volumes.list'>, type?: string): Promise<RouteReply> => {
    const { pool } = context.params;
    const project = listedProject(context.query, context.caller);
    const { lists } = volumes;
    return sync(
      recursionOf(context.query) > 0 ? await lists.list(pool, project, type) : await lists.urls(pool, project, type),
    );
  };
  const create = async (context: ContextOf<'volumes.create'>, type: string | undefined): Promise<RouteReply> => {
    refuseBlocks(context.body);
    const from = context.namesOf(context.body.source?.project);
    const body =
      type === 'custom'
        ? await memberVolumes.creationHere(context.caller, context.params.pool, context.body, from)
        : context.body;
    const stale = refreshedVolume(migrationDeps, context.caller.project, context.params.pool, type, body);
    if (stale !== undefined) return async_(refreshVolume(migrationDeps, context.caller, stale, body, from));
    if (body.source?.type === 'migration')
      return async_(receiveVolume(migrationDeps, context.caller, context.params.pool, type, body));
    return orDone(await volumes.create(context.caller, context.params.pool, type, body, from));
  };
  const ofSnapshot = async ([pool, type, name, snapshot]: SnapshotPath): Promise<RouteReply> => {
    const object = await volumes.lists.snapshot(pool, checkVolumeType(type), name, snapshot);
    return sync(object, etagOf.volume(object));
  };
  const change = async (
    context: ContextOf<'volumes.put'>,
    how: 'put' | 'patch',
    [pool, type, name, snapshot]: VolumePath | SnapshotPath,
  ): Promise<RouteReply> => {
    const { caller, body, ifMatch } = context;
    if (type !== 'container' && snapshot !== undefined)
      throw errors.badRequest(
        `The snapshot ${name}/${snapshot} is changed with PUT of .../${name}/snapshots/${snapshot}`,
      );
    if (type !== 'container') await volumes[how](caller, pool, type, name, body, ifMatch);
    else if (snapshot === undefined) await containerVolumes[how](caller, pool, name, body, ifMatch);
    else await containerVolumes.changeSnapshot(caller, [pool, name, snapshot], how, body, ifMatch);
    return done;
  };
  return {
    'volumes.list': (context) => list(context),
    'volumes.listType': (context) => list(context, context.params.type),
    'volumes.create': (context) => create(context, context.body.type),
    'volumes.createType': (context) => {
      if (!isOctets(context.request)) return create(context, context.params.type);
      if (context.params.type !== 'custom')
        throw errors.badRequest(`A backup becomes a custom volume: there is no import of type ${context.params.type}`);
      return restore(context);
    },
    'volumes.get': async (context) => {
      const [pool, type, name, snapshot] = place(context);
      if (snapshot !== undefined) return ofSnapshot([pool, type, name, snapshot]);
      const { object, etag } = await (type === 'container'
        ? containerVolumes.get(pool, name)
        : volumes.get(pool, type, name));
      return sync(object, etag);
    },
    'volumes.getSnapshot': (context) => {
      const [pool, type, name] = place(context);
      return ofSnapshot([pool, type, name, context.params.snapshot]);
    },
    'volumes.put': (context) => change(context, 'put', place(context)),
    'volumes.postSnapshot': (context) => {
      const [pool, type, name, snapshot] = placeOfSnapshot(context);
      if (context.body.migration !== true)
        throw errors.badRequest(
          `The snapshot ${name}/${snapshot} is renamed with POST of .../${name}/snapshots/${snapshot}`,
        );
      return async_(migrateVolume(migrationDeps, context.caller, type, { pool, name }, context.body, snapshot));
    },
    'volumes.putSnapshot': (context) => change(context, 'put', placeOfSnapshot(context)),
    'volumes.patch': (context) => change(context, 'patch', place(context)),
    'volumes.patchSnapshot': (context) => change(context, 'patch', placeOfSnapshot(context)),
    'volumes.delete': (context) => doneAfter(volumes.delete(context.caller, ...whole(context))),
    'volumes.post': async (context) => {
      const body = context.body;
      const pool = context.params.pool;
      if (body.migration === true) {
        const [, type, name, snapshot] = place(context);
        return async_(migrateVolume(migrationDeps, context.caller, type, { pool, name }, body, snapshot));
      }
      const target = body.pool === undefined || body.pool === '' ? pool : body.pool;
      const to = { pool: target, name: context.namesOf(body.project).volume(body.name) };
      const { target: member = '' } = context.query;
      if (context.isForwarded !== true && context.params.type === 'custom' && member !== '') {
        const away = { target: member, location: body.source?.location ?? '' };
        const moving = await memberVolumes.move(context.caller, { pool, name: context.params.name }, to, away);
        if (moving !== undefined) return async_(moving);
      }
      if (to.pool !== pool || projectOf(to.name) !== projectOf(context.params.name))
        return async_(volumes.moves.move(context.caller, ...whole(context), to));
      return movedTo(await volumes.moves.rename(context.caller, ...whole(context), body.name));
    },
  } satisfies Partial<RouteTable>;
}

export interface VolumeSnapshotServices extends Pick<VolumeRouteServices, 'containerVolumes'> {
  readonly volumeSnapshots: VolumeSnapshots;
}

export function volumeSnapshotRoutes({ volumeSnapshots: snapshots, containerVolumes }: VolumeSnapshotServices) {
  const changeSnapshot = (
    context: ContextOf<'volumeSnapshots.put' | 'volumeSnapshots.patch'>,
    body: VolumeSnapshotPut,
  ): Promise<RouteReply> => {
    const { caller, ifMatch } = context;
    const [pool, type, name, snapshot] = placeOfSnapshot(context);
    return doneAfter(
      type === 'container'
        ? containerVolumes.describeSnapshot(caller, [pool, name, snapshot], body, ifMatch)
        : snapshots.change(caller, custom(context), snapshot, body, ifMatch),
    );
  };
  return {
    'volumeSnapshots.list': (context) => {
      const [pool, type, name] = place(context);
      if (type !== 'container')
        return collection(
          context.query,
          () => snapshots.urls(custom(context)),
          () => snapshots.list(custom(context)),
        );
      return collection(
        context.query,
        () => containerVolumes.snapshotUrls(pool, name),
        () => containerVolumes.snapshotList(pool, name),
      );
    },
    'volumeSnapshots.create': (context) => async_(snapshots.create(context.caller, custom(context), context.body)),
    'volumeSnapshots.get': (context) => {
      const [pool, type, name] = place(context);
      const { snapshot } = context.params;
      const { object, etag } =
        type === 'container'
          ? containerVolumes.getSnapshot(pool, name, snapshot)
          : snapshots.get(custom(context), snapshot);
      return sync(object, etag);
    },
    'volumeSnapshots.put': (context) => changeSnapshot(context, context.body),
    'volumeSnapshots.patch': (context) => {
      const { body } = context;
      return changeSnapshot(context, body.expires_at === null ? { ...body, expires_at: '' } : body);
    },
    'volumeSnapshots.post': (context) =>
      async_(snapshots.rename(context.caller, custom(context), context.params.snapshot, context.body.name)),
    'volumeSnapshots.delete': (context) =>
      async_(snapshots.delete(context.caller, custom(context), context.params.snapshot)),
  } satisfies Partial<RouteTable>;
}

type VolumePath = readonly [pool: string, type: string, name: string, snapshot?: string];
type SnapshotPath = readonly [pool: string, type: string, name: string, snapshot: string];

/** LXD clients may escape the slash of VOLUME/SNAPSHOT. */
function place({ params }: WithParams<'pool' | 'type' | 'name'>): VolumePath {
  const slash = params.name.indexOf('/');
  if (slash < 0) return [params.pool, params.type, params.name];
  return [params.pool, params.type, params.name.slice(0, slash), params.name.slice(slash + 1)];
}

const placeOfSnapshot = (context: WithParams<'pool' | 'type' | 'name' | 'snapshot'>): SnapshotPath => [
  context.params.pool,
  context.params.type,
  context.params.name,
  context.params.snapshot,
];

/** Any volume but a container's, whose snapshots are made with the container. */
function custom({ params }: WithParams<'pool' | 'type' | 'name'>): { readonly pool: string; readonly name: string } {
  if (params.type !== 'custom')
    throw errors.badRequest(
      `Snapshots of volumes of type ${params.type} are made, renamed and deleted with what they belong to`,
    );
  return { pool: params.pool, name: params.name };
}

/** A volume that is no snapshot. */
function whole(context: WithParams<'pool' | 'type' | 'name'>): [pool: string, type: string, name: string] {
  const { pool, type, name } = context.params;
  return [pool, type, name];
}

const orDone = (operation: Operation | undefined): RouteReply => (operation === undefined ? done : async_(operation));
