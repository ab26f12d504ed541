// Profile endpoints: requests to use cases and back.
import type { Profiles } from '../../services/profiles/profiles.ts';
import { profileUrl, projectOf, qualifiedName } from '../../api/project/project-names.ts';
import { collection, done, isOfAllProjects, movedTo, sync, type RouteTable } from '../route.ts';

export function profileRoutes({ profiles }: { readonly profiles: Profiles }) {
  return {
    'profiles.list': ({ query, caller }) => {
      const project = isOfAllProjects(query) ? undefined : caller.project;
      return collection(
        query,
        () => profiles.names(project).map(profileUrl),
        () => profiles.list(project),
      );
    },
    'profiles.create': async ({ caller, body, names }) => {
      await profiles.create(caller, body);
      return movedTo(profileUrl(names.profile(body.name)));
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
      return movedTo(profileUrl(qualifiedName(projectOf(context.params.name), name)));
    },
    'profiles.delete': async (context) => {
      await profiles.delete(context.caller, context.params.name);
      return done;
    },
  } satisfies Partial<RouteTable>;
}
