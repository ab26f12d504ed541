// Profile endpoints: requests to use cases and back.
import type { Profiles } from '../../services/profiles/profiles.ts';
import { collection, done, movedTo, sync, type RouteTable } from '../route.ts';

const urlOf = (name: string): string => `/1.0/profiles/${encodeURIComponent(name)}`;

export function profileRoutes(profiles: Profiles) {
  return {
    'profiles.list': ({ query }) =>
      collection(
        query,
        () => profiles.names().map(urlOf),
        () => profiles.list(),
      ),
    'profiles.create': async ({ caller, body }) => {
      const create = body;
      await profiles.create(caller, create);
      return movedTo(urlOf(create.name));
    },
    'profiles.get': (context) => {
      const { object, etag } = profiles.get(context.params.name);
      return sync(object, etag);
    },
    'profiles.put': async (context) => {
      await profiles.put(context.caller, context.params.name, context.body, context.ifMatch);
      return done;
    },
    'profiles.patch': async (context) => {
      await profiles.patch(context.caller, context.params.name, context.body, context.ifMatch);
      return done;
    },
    'profiles.post': async (context) => {
      const { name } = context.body;
      await profiles.rename(context.caller, context.params.name, name);
      return movedTo(urlOf(name));
    },
    'profiles.delete': async (context) => {
      await profiles.delete(context.caller, context.params.name);
      return done;
    },
  } satisfies Partial<RouteTable>;
}
