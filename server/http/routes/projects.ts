// Project endpoints: requests to use cases and back.
import { projectUrl } from '../../api/project/project-names.ts';
import type { Projects } from '../../services/projects/projects.ts';
import { async_, collection, doneAfter, found, movedAfter, type RouteTable, sync } from '../route.ts';

export function projectRoutes({ projects }: { readonly projects: Projects }) {
  return {
    'projects.list': ({ query }) =>
      collection(
        query,
        () => projects.names().map(projectUrl),
        () => projects.list(),
      ),
    'projects.create': ({ caller, body }) => movedAfter(projects.create(caller, body), projectUrl(body.name)),
    'projects.get': ({ params }) => found(projects.get(params.name)),
    'projects.state': ({ params }) => sync(projects.state(params.name)),
    'projects.put': ({ caller, params, body, ifMatch }) => doneAfter(projects.put(caller, params.name, body, ifMatch)),
    'projects.patch': ({ caller, params, body, ifMatch }) =>
      doneAfter(projects.patch(caller, params.name, body, ifMatch)),
    'projects.post': ({ caller, params, body }) => async_(projects.rename(caller, params.name, body.name)),
    'projects.delete': ({ caller, params }) => doneAfter(projects.delete(caller, params.name)),
  } satisfies Partial<RouteTable>;
}
