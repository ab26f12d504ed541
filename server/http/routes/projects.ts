// Project endpoints: requests to use cases and back.
import { projectUrl } from '../../api/project/project-names.ts';
import type { Projects } from '../../services/projects/projects.ts';
import { async_, collection, done, movedTo, sync, type RouteTable } from '../route.ts';

export function projectRoutes({ projects }: { readonly projects: Projects }) {
  return {
    'projects.list': ({ query }) =>
      collection(
        query,
        () => projects.names().map(projectUrl),
        () => projects.list(),
      ),
    'projects.create': async ({ caller, body }) => {
      await projects.create(caller, body);
      return movedTo(projectUrl(body.name));
    },
    'projects.get': ({ params }) => {
      const { object, etag } = projects.get(params.name);
      return sync(object, etag);
    },
    'projects.state': ({ params }) => sync(projects.state(params.name)),
    'projects.put': async ({ caller, params, body, ifMatch }) => {
      await projects.put(caller, params.name, body, ifMatch);
      return done;
    },
    'projects.patch': async ({ caller, params, body, ifMatch }) => {
      await projects.patch(caller, params.name, body, ifMatch);
      return done;
    },
    'projects.post': ({ caller, params, body }) => async_(projects.rename(caller, params.name, body.name)),
    'projects.delete': async ({ caller, params }) => {
      await projects.delete(caller, params.name);
      return done;
    },
  } satisfies Partial<RouteTable>;
}
