// Limits the view of a restricted caller: objects that all projects share, and lists of users. Pure.
import { errors, type AppError, mustFind } from '../api/errors.ts';
import type { Event } from '../api/event.ts';
import { defaultProject } from '../api/project/project-names.ts';
import { LongList } from '../lib/shared/long-list.ts';

/** What one restricted caller may know. */
export interface Sight {
  readonly projects: readonly string[];
  readonly fingerprint: string;
  /** Whether containers of its projects may use that managed network. */
  readonly network: (name: string) => boolean;
  /** Whether a container of one of its projects has the hardware address. */
  readonly address: (hwaddr: string) => boolean;
  /** Whether the operation of this member concerns an object of its projects, or this caller started it. */
  readonly operation: (id: string) => boolean;
  /** Whether another member of the cluster runs the operation: that one decides what the caller may see of it. */
  readonly isElsewhere: (id: string) => boolean;
}

type Params = Readonly<Record<string, string>>;
type Json = unknown;

interface SharedRow {
  /** The path's object as the caller may request it; undefined: not found. */
  readonly params?: (params: Params, sight: Sight) => Params | undefined;
  /** The object in a "not found" answer: kind and parameter. */
  readonly object?: readonly [kind: string, param: string];
  readonly view: (result: Json, sight: Sight) => Json;
}

const mayAskFor = (id: string, sight: Sight): boolean => sight.operation(id) || sight.isElsewhere(id);

const whole: SharedRow = { view: (result) => result };
const operation: SharedRow = {
  object: ['operation', 'id'],
  params: (params, sight) => (mayAskFor(params['id'] ?? '', sight) ? params : undefined),
  view: (result) => result,
};
const project: SharedRow = {
  object: ['project', 'name'],
  params: (params, sight) => (sight.projects.includes(params['name'] ?? '') ? params : undefined),
  view: (result) => result,
};
const network = (view: SharedRow['view']): SharedRow => ({
  object: ['network', 'name'],
  params: (params, sight) => (sight.network(params['name'] ?? '') ? params : undefined),
  view,
});

export const sharedRows: Readonly<Record<string, SharedRow>> = {
  'root.get': whole,
  'server.get': { view: (result) => withoutConfig(result) },
  'resources.get': whole,
  // Built from the caller's projects.
  'metrics.get': whole,
  'cluster.get': whole,
  'certificates.list': { view: (result, sight) => listed(result, 'fingerprint', (name) => name === sight.fingerprint) },
  'certificates.get': {
    object: ['certificate', 'fingerprint'],
    // A prefix of another fingerprint matches none, so that it reveals nothing.
    params: (params, sight) => {
      const { fingerprint = '' } = params;
      return fingerprint !== '' && sight.fingerprint.startsWith(fingerprint)
        ? { ...params, fingerprint: sight.fingerprint }
        : undefined;
    },
    view: (result) => result,
  },
  'projects.list': { view: (result, { projects }) => listed(result, 'name', (name) => projects.includes(name)) },
  'projects.get': project,
  'projects.state': project,
  'pools.list': { view: (result) => mapped(result, withoutConfig) },
  'pools.get': { view: withoutConfig },
  'networks.list': { view: (result, sight) => mapped(listed(result, 'name', sight.network), withoutConfig) },
  'networks.get': network(withoutConfig),
  // A restricted client sees no ACLs, like no config of networks.
  'networkAcls.list': { view: () => [] },
  'networks.leases': network((result, sight) =>
    Array.isArray(result) ? result.filter((lease) => sight.address(textOf(lease, 'hwaddr'))) : [],
  ),
  'operations.list': { view: (result, sight) => operationsIn(result, (id) => mayAskFor(id, sight)) },
  'operations.get': operation,
  'operations.delete': operation,
  'operations.wait': operation,
  'operations.websocket': operation,
};

/** The parameters for serving the request. Throws the answer for a missing object. */
export function paramsFor(id: string, params: Params, sight: Sight): Params {
  const row = Object.hasOwn(sharedRows, id) ? sharedRows[id] : undefined;
  if (row?.params === undefined || row.object === undefined) return params;
  const [kind, param] = row.object;
  return mustFind(row.params(params, sight), kind, params[param] ?? '');
}

export function viewOf(id: string, result: Json, sight: Sight): Json {
  const row = Object.hasOwn(sharedRows, id) ? sharedRows[id] : undefined;
  return withOwnUsers(row === undefined ? result : row.view(result, sight), sight.projects);
}

/** Projects that a request body names besides the one of its URL. */
export function projectsNamed(body: Json): readonly string[] {
  const named = [textOf(body, 'project'), textOf(memberOf(body, 'source'), 'project'), textOf(body, 'target_project')];
  return named.filter((name) => name !== '');
}

/** Throws AppError notFound as for a missing project. */
export function needOwn(projects: readonly string[] | undefined, named: readonly string[]): void {
  const foreign = named.find((name) => projects?.includes(name) === false);
  if (foreign !== undefined) throw errors.notFound('project', foreign);
}

/** An object of another project that the request's project merely uses cannot be changed through it. */
export const sharedObjectRefusal = (project: string, owner: string): AppError =>
  errors.forbidden(
    `The project ${project} uses these objects of the project ${owner}, which the client may not use: they can only be read`,
  );

export function projectOfUrl(url: string): string | undefined {
  const [path = '', query = ''] = url.split('?', 2);
  const isOfProject =
    /^\/1\.0\/(?:containers|instances|images|profiles)(?:\/|$)/.test(path) ||
    /^\/1\.0\/storage-pools\/[^/]+\/volumes(?:\/|$)/.test(path);
  return isOfProject ? new URLSearchParams(query).get('project') || defaultProject : undefined;
}

/** Whether all objects at these URLs are in those projects; false for none. */
export const areOfProjects = (urls: readonly string[], projects: readonly string[]): boolean =>
  urls.length > 0 && urls.every((url) => projects.includes(projectOfUrl(url) ?? ''));

/** Whether the caller may get the event: it concerns an object of its projects. Members relay events of all projects. */
export function isSeen({ type, metadata }: Pick<Event, 'type' | 'metadata'>, sight: Sight): boolean {
  if (type === 'operation')
    return sight.operation(textOf(metadata, 'id')) || areOfProjects(resourcesOf(metadata), sight.projects);
  return type === 'lifecycle' && sight.projects.includes(projectOfUrl(textOf(metadata, 'source')) ?? '');
}

function withOwnUsers(result: Json, projects: readonly string[]): Json {
  if (result instanceof LongList) return result.map((each) => withOwnUsers(each, projects));
  if (Array.isArray(result)) {
    const list: readonly Json[] = result;
    const own = list.map((each) => withOwnUsers(each, projects));
    // An unchanged list keeps its cached JSON.
    return own.every((each, index) => each === list[index]) ? list : own;
  }
  const users = memberOf(result, 'used_by');
  if (!Array.isArray(users)) return result;
  if (users.length === 0) return result;
  const own = users.filter((url) => typeof url === 'string' && projects.includes(projectOfUrl(url) ?? ''));
  return { ...(result as object), used_by: own };
}

function withoutConfig(result: Json): Json {
  return memberOf(result, 'config') === undefined ? result : { ...(result as object), config: {} };
}

const mapped = (result: Json, change: (each: Json) => Json): Json =>
  Array.isArray(result) ? result.map(change) : result;

/** URLs end with the name; objects have it as a member. */
const listed = (result: Json, member: string, isSeen: (name: string) => boolean): Json =>
  Array.isArray(result) ? result.filter((each) => isSeen(nameIn(each, member))) : result;

function nameIn(each: Json, member: string): string {
  if (typeof each !== 'string') return textOf(each, member);
  return decodeURIComponent(each.split('?')[0]?.split('/').at(-1) ?? '');
}

const resourcesOf = (operation: Json): readonly string[] =>
  Object.values(memberOf(operation, 'resources') ?? {}).flatMap((urls: Json) => (Array.isArray(urls) ? urls : []));

/** A list, or lists by status. */
function operationsIn(result: Json, isSeen: (id: string) => boolean): Json {
  if (Array.isArray(result)) return listed(result, 'id', isSeen);
  if (typeof result !== 'object' || result === null) return result;
  const lists = Object.entries(result).map(([status, list]) => [status, listed(list, 'id', isSeen)] as const);
  return Object.fromEntries(lists.filter(([, list]) => !Array.isArray(list) || list.length > 0));
}

const memberOf = (value: Json, member: string): Json =>
  typeof value === 'object' && value !== null ? (value as Readonly<Record<string, unknown>>)[member] : undefined;

function textOf(value: Json, member: string): string {
  const text = memberOf(value, member);
  return typeof text === 'string' ? text : '';
}
