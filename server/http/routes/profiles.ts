// Profile endpoints: requests to use cases and back.
import type { Profiles } from '../../services/profiles/profiles.ts';
import { profileUrl, projectOf, qualifiedName } from '../../api/project/project-names.ts';
import { collection, doneAfter, found, isOfAllProjects, movedAfter, movedTo, type RouteTable } from '../route.ts';

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
    'profiles.create': ({ caller, body, names }) =>
      movedAfter(profiles.create(caller, body), profileUrl(names.profile(body.name))),
    'profiles.get': (context) => found(profiles.get(context.params.name)),
    'profiles.put': (context) =>
      doneAfter(profiles.put(context.caller, context.params.name, context.body, context.ifMatch)),
    'profiles.patch': (context) =>
      doneAfter(profiles.patch(context.caller, context.params.name, context.body, context.ifMatch)),
    'profiles.post': async (context) => {
      const { name } = context.body;
      await profiles.rename(context.caller, context.params.name, name);
      return movedTo(profileUrl(qualifiedName(projectOf(context.params.name), name)));
    },
    'profiles.delete': (context) => doneAfter(profiles.delete(context.caller, context.params.name)),
  } satisfies Partial<RouteTable>;
}
