// Endpoints of groups of cluster members, and of what is written of a member: requests to use cases and back.
import { groupUrl, type MemberGroups } from '../../services/cluster/member-groups.ts';
import type { MemberSettings } from '../../services/cluster/member-settings.ts';
import { collection, done, movedTo, sync, type RouteTable } from '../route.ts';

interface ClusterGroupServices {
  readonly memberGroups: MemberGroups;
  readonly memberSettings: MemberSettings;
}

export function clusterGroupRoutes({ memberGroups: groups, memberSettings: members }: ClusterGroupServices) {
  return {
    'members.put': async ({ caller, params, body, ifMatch }) => {
      await members.put(caller, params.name, body, ifMatch);
      return done;
    },
    'members.patch': async ({ caller, params, body, ifMatch }) => {
      await members.patch(caller, params.name, body, ifMatch);
      return done;
    },
    'memberGroups.list': ({ query }) =>
      collection(
        query,
        () => groups.names().map(groupUrl),
        () => groups.list(),
      ),
    'memberGroups.create': async ({ caller, body }) => {
      await groups.create(caller, body);
      return movedTo(groupUrl(body.name));
    },
    'memberGroups.get': ({ params }) => {
      const { object, etag } = groups.get(params.name);
      return sync(object, etag);
    },
    'memberGroups.put': async ({ caller, params, body, ifMatch }) => {
      await groups.put(caller, params.name, body, ifMatch);
      return done;
    },
    'memberGroups.patch': async ({ caller, params, body, ifMatch }) => {
      await groups.patch(caller, params.name, body, ifMatch);
      return done;
    },
    'memberGroups.post': async ({ caller, params, body }) => {
      await groups.rename(caller, params.name, body.name);
      return movedTo(groupUrl(body.name));
    },
    'memberGroups.delete': async ({ caller, params }) => {
      await groups.delete(caller, params.name);
      return done;
    },
  } satisfies Partial<RouteTable>;
}
