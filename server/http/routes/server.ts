// Server, resources and root endpoints: requests to use cases and back.
import { readResources } from '../../services/server/resources.ts';
import type { ServerSettings } from '../../services/server/server.ts';
import { done, sync, type RouteTable } from '../route.ts';

/** `dialect` is the one that its clients speak. */
export function serverRoutes(server: ServerSettings, dialect: string) {
  return {
    'root.get': () => sync(['/1.0']),
    'server.get': async ({ caller }) => {
      const { object, etag } = await server.get(caller, dialect);
      return sync(object, etag);
    },
    'server.put': async ({ caller, body, ifMatch }) => {
      await server.change(caller, dialect, 'put', body, ifMatch);
      return done;
    },
    'server.patch': async ({ caller, body, ifMatch }) => {
      await server.change(caller, dialect, 'patch', body, ifMatch);
      return done;
    },
    'resources.get': async () => sync(await readResources()),
  } satisfies Partial<RouteTable>;
}
