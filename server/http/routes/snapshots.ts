// Container snapshot endpoints: requests to use cases and back.
import type { ContainerPost } from '../../api/container/container.ts';
import { errors } from '../../api/errors.ts';
import type { SnapshotCreate, SnapshotPut } from '../../api/container/snapshot.ts';
import type { Snapshots } from '../../services/containers/snapshots/snapshots.ts';
import type { Migrations } from '../../services/migration/migrations.ts';
import { async_, collection, param, sync, type RouteTable } from '../route.ts';

export function snapshotRoutes(snapshots: Snapshots, migrations: Migrations): RouteTable {
  return {
    'snapshots.list': (context) => {
      const container = param(context, 'name');
      return collection(
        context.query,
        () => snapshots.urls(container),
        () => snapshots.list(container),
      );
    },
    'snapshots.create': (context) =>
      async_(snapshots.create(context.caller, param(context, 'name'), context.body as SnapshotCreate)),
    'snapshots.get': (context) => sync(snapshots.get(param(context, 'name'), param(context, 'snapshot'))),
    'snapshots.post': (context) => {
      const body = context.body as ContainerPost;
      if (body.migration === true)
        return async_(migrations.sendSnapshot(param(context, 'name'), param(context, 'snapshot'), body));
      if (body.name === undefined) throw errors.invalid('rename', [{ path: 'name', message: 'is required' }]);
      return async_(snapshots.rename(context.caller, param(context, 'name'), param(context, 'snapshot'), body.name));
    },
    'snapshots.put': (context) =>
      async_(
        snapshots.put(context.caller, param(context, 'name'), param(context, 'snapshot'), context.body as SnapshotPut),
      ),
    'snapshots.delete': (context) =>
      async_(snapshots.delete(context.caller, param(context, 'name'), param(context, 'snapshot'))),
  };
}
