// Second stage of a request: finds the objects it names, in the projects that its caller may know.
import type { Endpoint } from '../../api/endpoints/endpoint.ts';
import { type AppError, errors } from '../../api/errors.ts';
import type { Sight } from '../../auth/restricted-view.ts';
import type { Cluster } from '../../membership/cluster.ts';
import type { RoutedRequest } from '../../membership/routing.ts';
import { isTrustedCaller } from '../../services/shared/caller.ts';
import { namesForStrangers, type ProjectNames } from '../../services/shared/project-scope.ts';
import { qualifiedParams } from '../project-params.ts';
import { ownParams } from '../restricted.ts';
import type { RouteHandler } from '../route.ts';
import type { AdmittedRequest } from './admit.ts';
import type { AppDeps } from './app-deps.ts';
import { checkOrigin } from './origin.ts';

export interface ResolvedRequest extends AdmittedRequest {
  readonly handler: RouteHandler;
  readonly names: ProjectNames;
  /** What a restricted caller may know; absent: everything. */
  readonly sight?: Sight | undefined;
  readonly asked: RoutedRequest & Pick<AdmittedRequest, 'endpoint'>;
}

/** Throws AppError. */
export function resolve(deps: AppDeps, admitted: AdmittedRequest): ResolvedRequest {
  const { endpoint, handler, identity, project, query, request } = admitted;
  checkOrigin(deps.allowedOrigin(), request.raw, endpoint.method !== 'GET');
  const names = isTrustedCaller(identity.caller) ? deps.namesIn(project) : namesForStrangers(project);
  checkTarget(deps.cluster, query);
  if (handler === undefined) throw unservable(endpoint);
  const sight = identity.caller.projects === undefined ? undefined : deps.sightOf(identity.caller);
  const params = qualifiedParams(endpoint.path, request.params as Record<string, string>, names);
  const own = sight === undefined ? params : ownParams(endpoint, params, names, sight);
  return { ...admitted, handler, names, sight, asked: { endpoint, params: own, query } };
}

/** Servers without a cluster use `none` as their `location`. */
function checkTarget(cluster: Cluster, { target = '' }: Readonly<Record<string, string>>): void {
  if (target === '' || target === 'none' || cluster.isOn) return;
  throw errors.badRequest(
    `There is no cluster member ${target}: this server is not part of a cluster; leave target out`,
  );
}

function unservable(endpoint: Endpoint): AppError {
  if (endpoint.mode === 'websocket')
    return errors.badRequest(`${endpoint.method} ${endpoint.path} needs a websocket upgrade`);
  return errors.notImplemented(`${endpoint.method} ${endpoint.path} is not available in this release`);
}
