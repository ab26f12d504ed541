// Endpoints of member groups, and of members' settings: requests to use cases and back.
import { groupUrl, type MemberGroups } from '../../services/cluster/member-groups.ts';
import type { MemberSettings } from '../../services/cluster/member-settings.ts';
import { collection, doneAfter, found, movedAfter, type RouteTable } from '../route.ts';

interface ClusterGroupServices {
  readonly memberGroups: MemberGroups;
  readonly memberSettings: MemberSettings;
}

export function clusterGroupRoutes({ memberGroups: groups, memberSettings: members }: ClusterGroupServices) {
  return {
    'members.put': ({ caller, params, body, ifMatch }) => doneAfter(members.put(caller, params.name, body, ifMatch)),
    'members.patch': ({ caller, params, body, ifMatch }) =>
      doneAfter(members.patch(caller, params.name, body, ifMatch)),
    'memberGroups.list': ({ query }) =>
      collection(
        query,
        () => groups.names().map(groupUrl),
        () => groups.list(),
      ),
    'memberGroups.create': ({ caller, body }) => movedAfter(groups.create(caller, body), groupUrl(body.name)),
    'memberGroups.get': ({ params }) => found(groups.get(params.name)),
    'memberGroups.put': ({ caller, params, body, ifMatch }) =>
      doneAfter(groups.put(caller, params.name, body, ifMatch)),
    'memberGroups.patch': ({ caller, params, body, ifMatch }) =>
      doneAfter(groups.patch(caller, params.name, body, ifMatch)),
    'memberGroups.post': ({ caller, params, body }) =>
      movedAfter(groups.rename(caller, params.name, body.name), groupUrl(body.name)),
    'memberGroups.delete': ({ caller, params }) => doneAfter(groups.delete(caller, params.name)),
  } satisfies Partial<RouteTable>;
}
