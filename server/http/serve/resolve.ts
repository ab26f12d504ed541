// Second stage of a request: finds the objects it names, in the projects that its caller may know.
import type { Endpoint } from '../../api/endpoints/endpoint.ts';
import { errors, type AppError } from '../../api/errors.ts';
import type { Sight } from '../../auth/restricted-view.ts';
import type { Cluster } from '../../membership/cluster.ts';
import type { RoutedRequest } from '../../membership/routing.ts';
import { isTrustedCaller } from '../../services/shared/caller.ts';
import { namesForStrangers, type ProjectNames } from '../../services/shared/project-scope.ts';
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
  const names = needsProject(admitted) ? deps.namesIn(project) : namesForStrangers(project);
  checkTarget(deps.cluster, query);
  if (handler === undefined) throw unservable(endpoint);
  const sight = identity.caller.projects === undefined ? undefined : deps.sightOf(identity.caller);
  const params = qualifiedParams(endpoint.path, request.params as Record<string, string>, names);
  const own = sight === undefined ? params : ownParams(endpoint, params, names, sight);
  return { ...admitted, handler, names, sight, asked: { endpoint, params: own, query } };
}

/** A client whose project is gone lists projects and chooses another one. */
const needsProject = ({ endpoint, identity }: AdmittedRequest): boolean =>
  isTrustedCaller(identity.caller) && !endpoint.path.startsWith('/1.0/projects');

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

/** Qualifies names in paths, once for all routes. */
type Params = Readonly<Record<string, string>>;
type Qualify = (params: Params, names: ProjectNames) => Params;

const byPath: readonly (readonly [path: string, qualify: Qualify])[] = [
  ['/1.0/containers/:name', (params, names) => changed(params, 'name', names.container)],
  ['/1.0/profiles/:name', (params, names) => changed(params, 'name', names.profile)],
  ['/1.0/images/aliases/', (params, names) => changed(params, '*', names.alias)],
  ['/1.0/images/:fingerprint', (params, names) => changed(params, 'fingerprint', names.image)],
  ['/1.0/storage-pools/:pool/volumes/:type/:name', (params, names) => changed(params, 'name', volumeOf(params, names))],
  ['/1.0/storage-pools/:pool/volumes/custom/:name', (params, names) => changed(params, 'name', names.volume)],
];

const changed = (params: Params, key: string, qualify: (name: string) => string): Params => ({
  ...params,
  [key]: qualify(params[key] ?? ''),
});

/** A container's volume is named after it, an image's after its fingerprint. */
function volumeOf({ type }: Params, names: ProjectNames): (name: string) => string {
  if (type === 'container') return names.container;
  return type === 'image' ? names.image : names.volume;
}

/** `path`: the endpoint's path. */
function qualifiedParams(path: string, params: Params, names: ProjectNames): Params {
  const found = byPath.find(([prefix]) => path.startsWith(prefix));
  return found === undefined ? params : found[1](params, names);
}
