// Endpoints of warnings: requests to use cases and back.
import { warningUrl } from '../../api/server/warning.ts';
import type { Warnings } from '../../services/warnings/warnings.ts';
import { collection, type ContextOf, done, doneAfter, found, type RouteReply, type RouteTable } from '../route.ts';

export function warningRoutes({ warnings }: { readonly warnings: Warnings }) {
  const put = async ({
    caller,
    params,
    body,
    ifMatch,
  }: ContextOf<'warnings.put'> | ContextOf<'warnings.patch'>): Promise<RouteReply> => {
    await warnings.put(caller, params.uuid, body.status, ifMatch);
    return done;
  };
  return {
    'warnings.list': ({ query }) => {
      const list = () => warnings.list(query.project || undefined);
      return collection(query, () => list().map(({ uuid }) => warningUrl(uuid)), list);
    },
    'warnings.get': ({ params }) => found(warnings.get(params.uuid)),
    'warnings.put': put,
    'warnings.patch': put,
    'warnings.delete': ({ caller, params }) => doneAfter(warnings.delete(caller, params.uuid)),
  } satisfies Partial<RouteTable>;
}
