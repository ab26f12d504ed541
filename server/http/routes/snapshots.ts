// Container snapshot endpoints: requests to use cases and back.
import { errors } from '../../api/errors.ts';
import type { Snapshots } from '../../services/containers/snapshots/snapshots.ts';
import type { Migrations } from '../../services/transfer/migration/migrations.ts';
import { async_, collection, sync, type RouteTable } from '../route.ts';

export function snapshotRoutes(snapshots: Snapshots, migrations: Migrations) {
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
    'snapshots.get': (context) => sync(snapshots.get(context.params.name, context.params.snapshot)),
    'snapshots.post': (context) => {
      const body = context.body;
      if (body.migration === true)
        return async_(migrations.sendSnapshot(context.caller, context.params.name, context.params.snapshot, body));
      if (body.name === undefined) throw errors.invalid('rename', [{ path: 'name', message: 'is required' }]);
      return async_(snapshots.rename(context.caller, context.params.name, context.params.snapshot, body.name));
    },
    'snapshots.put': (context) =>
      async_(snapshots.put(context.caller, context.params.name, context.params.snapshot, context.body)),
    'snapshots.delete': (context) =>
      async_(snapshots.delete(context.caller, context.params.name, context.params.snapshot)),
  } satisfies Partial<RouteTable>;
}
