// Profile endpoints: requests to use cases and back.
import type { ProfileCreate, ProfilePut } from '../../api/container/profile.ts';
import type { Profiles } from '../../services/profiles/profiles.ts';
import { collection, done, movedTo, param, sync, type RouteTable } from '../route.ts';

const urlOf = (name: string): string => `/1.0/profiles/${encodeURIComponent(name)}`;

export function profileRoutes(profiles: Profiles): RouteTable {
  return {
    'profiles.list': ({ query }) =>
      collection(
        query,
        () => profiles.names().map(urlOf),
        () => profiles.list(),
      ),
    'profiles.create': async ({ caller, body }) => {
      const create = body as ProfileCreate;
      await profiles.create(caller, create);
      return movedTo(urlOf(create.name));
    },
    'profiles.get': (context) => {
      const { object, etag } = profiles.get(param(context, 'name'));
      return sync(object, etag);
    },
    'profiles.put': async (context) => {
      await profiles.put(context.caller, param(context, 'name'), context.body as ProfilePut, context.ifMatch);
      return done;
    },
    'profiles.patch': async (context) => {
      await profiles.patch(context.caller, param(context, 'name'), context.body as ProfilePut, context.ifMatch);
      return done;
    },
    'profiles.post': async (context) => {
      const { name } = context.body as { name: string };
      await profiles.rename(context.caller, param(context, 'name'), name);
      return movedTo(urlOf(name));
    },
    'profiles.delete': async (context) => {
      await profiles.delete(context.caller, param(context, 'name'));
      return done;
    },
  };
}
