// Container snapshot endpoints: requests to use cases and back.
import { errors } from '../../api/errors.ts';
import type { Snapshots } from '../../services/containers/snapshots/snapshots.ts';
import { migrateSnapshot } from '../../services/transfer/migration/container-source.ts';
import type { MigrationDeps } from '../../services/transfer/migration/migrations.ts';
import { async_, collection, found, type RouteTable } from '../route.ts';

interface SnapshotServices {
  readonly snapshots: Snapshots;
  readonly migrationDeps: MigrationDeps;
}

export function snapshotRoutes({ snapshots, migrationDeps }: SnapshotServices) {
  return {
    'snapshots.list': (context) => {
      const container = context.params.name;
      return collection(
        context.query,
        () => snapshots.urls(container),
        () => snapshots.list(container),
      );
    },
    'snapshots.create': (context) => async_(snapshots.create(context.caller, context.params.name, context.body)),
    'snapshots.get': ({ params }) => found(snapshots.get(params.name, params.snapshot)),
    'snapshots.post': ({ caller, params, body }) => {
      const { name, snapshot } = params;
      if (body.migration === true) return async_(migrateSnapshot(migrationDeps, caller, name, snapshot, body));
      if (body.name === undefined) throw errors.invalid('rename', [{ path: 'name', message: 'is required' }]);
      return async_(snapshots.rename(caller, name, snapshot, body.name));
    },
    'snapshots.put': ({ caller, params, body, ifMatch }) =>
      async_(snapshots.put(caller, params.name, params.snapshot, body, ifMatch)),
    'snapshots.patch': ({ caller, params, body, ifMatch }) =>
      async_(snapshots.put(caller, params.name, params.snapshot, body, ifMatch)),
    'snapshots.delete': (context) =>
      async_(snapshots.delete(context.caller, context.params.name, context.params.snapshot)),
  } satisfies Partial<RouteTable>;
}
