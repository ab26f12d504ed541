// Requests of restricted callers, before and after their handlers: one place for all routes. The auth room decides.
import type { Endpoint } from '../api/endpoints/endpoint.ts';
import { projectOf } from '../api/project/project-names.ts';
import { errors, type AppError } from '../api/errors.ts';
import { decide } from '../auth/policy.ts';
import { needOwn, paramsFor, projectsNamed, sharedObjectRefusal, viewOf, type Sight } from '../auth/restricted-view.ts';
import type { Caller } from '../services/shared/caller.ts';
import type { ProjectNames } from '../services/shared/project-scope.ts';
import type { RouteReply } from './route.ts';
import { withoutUndefined } from '../lib/shared/without-undefined.ts';

/** Why the caller may not make this request; for an object that must stay hidden, the answer for a missing one. */
export function accessRefusal(
  { class: callerClass, project, projects, requestor }: Caller,
  endpoint: Endpoint,
  query: Readonly<Record<string, string | undefined>>,
  demandsTrust: boolean,
): AppError | undefined {
  const access = decide(callerClass, endpoint, {
    demandsTrust,
    hasToken: requestor.protocol === 'oidc',
    ...withoutUndefined({ projects }),
    project: { name: project, isNamed: (query['project'] ?? '') !== '' },
    isAboutAll: asksForAll(query['all-projects']) || project === '*',
  });
  if (access === 'allow') return undefined;
  if (access.deny === 404 && access.project !== undefined) return errors.notFound('project', access.project);
  return errors.forbidden(`${endpoint.method} ${endpoint.path}: ${access.reason}`);
}

const asksForAll = (value = ''): boolean => !['', '0', 'false', 'no', 'off'].includes(value.trim().toLowerCase());

/** The path parameters for serving the request. Throws AppError. */
export function ownParams(
  endpoint: Endpoint,
  params: Readonly<Record<string, string>>,
  names: ProjectNames,
  sight: Sight,
): Readonly<Record<string, string>> {
  const found = paramsFor(endpoint.id, params, sight);
  const owner = ownerOf(endpoint, names);
  if (endpoint.method !== 'GET' && owner !== undefined && !sight.projects.includes(owner))
    throw sharedObjectRefusal(names.project, owner);
  return found;
}

/** The project whose profiles, images or volumes the project of the request uses. */
function ownerOf({ id }: Endpoint, names: ProjectNames): string | undefined {
  const name = namers[id.slice(0, id.indexOf('.'))];
  return name === undefined ? undefined : projectOf(name(names));
}

const namers: Readonly<Record<string, (names: ProjectNames) => string>> = {
  profiles: (names) => names.profile('any'),
  images: (names) => names.image('any'),
  aliases: (names) => names.alias('any'),
  volumes: (names) => names.volume('any'),
  volumeSnapshots: (names) => names.volume('any'),
  volumeBackups: (names) => names.volume('any'),
};

/** A body may name projects, such as that of a container to copy. */
export const checkNamedProjects = ({ projects }: Pick<Caller, 'projects'>, body: unknown): void =>
  needOwn(projects, projectsNamed(body));

/** Drops the ETag of a shared object: it would reveal changes that the caller does not see. */
export function seen({ id, scope }: Endpoint, reply: RouteReply, sight: Sight): RouteReply {
  if (reply.kind !== 'sync') return reply;
  const { etag, ...rest } = { ...reply, metadata: viewOf(id, reply.metadata, sight) };
  return etag === undefined || scope === 'shared' ? rest : { ...rest, etag };
}
