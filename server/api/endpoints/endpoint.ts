// The type of an endpoint of the contract, and the short form in which the endpoint table is written.
import type { TSchema } from 'typebox';

/** guest: no client certificate; untrusted: one that is not in the trust store; restricted: trusted for some projects only; trusted: all
 *  others, and the unix socket. */
export const callerClasses = ['guest', 'untrusted', 'restricted', 'trusted'] as const;
export type CallerClass = (typeof callerClasses)[number];
/** Whose objects a trusted caller sees. project: those of the project that the request names. shared: the server's, of which a restricted
 *  caller sees a part. server: the server's, without restricted callers. */
export type Scope = 'project' | 'shared' | 'server';
export type Method = 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
/**
 * sync: envelope with a result; async: envelope with an operation; raw: bytes (or an envelope, see the row); websocket: the connection
 * is upgraded.
 */
export type Mode = 'sync' | 'async' | 'raw' | 'websocket';

export interface Endpoint {
  /** Stable name: `noun.verb`. Handlers and tests are keyed by it. */
  readonly id: string;
  readonly method: Method;
  /** Path with `:name` for one segment and a trailing `*` for the rest. */
  readonly path: string;
  readonly auth: readonly CallerClass[];
  /** Its callers as LXD clients, if LXD is stricter. */
  readonly lxdAuth?: readonly CallerClass[];
  readonly scope: Scope;
  readonly mode: Mode;
  /** Query parameters besides `project`, which every endpoint takes. */
  readonly query: readonly string[];
  readonly body?: TSchema;
  /** Shape of `metadata` in the envelope; with `recursion` of the list's items. */
  readonly result?: TSchema;
  readonly extension?: string;
  /** GET answers with an ETag header; PUT and PATCH obey If-Match. */
  readonly etag: boolean;
  /** HTTP status of success in the spec's dialect, if not 200 (sync) or 202 (async). */
  readonly status?: 202 | 204;
  /** The member of a cluster that carries it out, if not the one that has the object. `body`: depends on the body. `source`: the one
   *  that has the container named by the body, else this one. `anyone`: any member,
   *  unless the query names a member's object. `first`: the first of those that have the image; `nearest`: this one if it has the image. */
  readonly placedBy?: 'body' | 'source' | 'anyone' | 'first' | 'nearest';
  /** The meaning of `?target=`; absent: the member that carries it out. `group`: a member or a group. `destination`: a member or group that
   *  receives the object. `part`: a part of a change to the whole cluster. */
  readonly target?: 'group' | 'destination' | 'part';
  /** The handler reads the body itself: every body that is not named JSON, or only application/octet-stream. */
  readonly ownBody?: 'files' | 'octets';
  /** `metrics`: also open to callers with a metrics certificate, and to everybody if core.metrics_authentication allows it. */
  readonly access?: 'metrics';
  /** False: it acts on this member's containers without changing a record, even while the cluster's store does not answer. */
  readonly needsStore?: false;
  /** False: requests leave no spans, since they are constant. */
  readonly traced?: false;
  /** False: part of the contract, but not served by this release. */
  readonly built: boolean;
  readonly doc: string;
}

export type EndpointOptions = Partial<Omit<Endpoint, 'id' | 'method' | 'path' | 'mode' | 'doc'>>;

export const everyone: readonly CallerClass[] = ['guest', 'untrusted', 'trusted'];
export const trustedOnly: readonly CallerClass[] = ['trusted'];

/** Restricted callers may use endpoints of lower classes, and those of their projects. */
function classesOf(auth: readonly CallerClass[], scope: Scope): readonly CallerClass[] {
  return scope === 'server' ? auth : [...auth, 'restricted'];
}

export const rowIn = (dialect: string, row: Endpoint): Endpoint =>
  dialect === 'lxd' && row.lxdAuth !== undefined ? { ...row, auth: row.lxdAuth } : row;

type PathOf<Route> = Route extends `${Method} ${infer Path}` ? Path : never;
type ValueOf<O, Key extends keyof EndpointOptions, Default> = O extends { readonly [K in Key]: infer Value }
  ? Value
  : Default;

/** A row with its types, for handlers' body, query and path parameters. */
export type EndpointRow<Id, Route, M extends Mode, O, Common> = Endpoint & {
  readonly id: Id;
  readonly path: PathOf<Route>;
  readonly mode: M;
  readonly query: ValueOf<O, 'query', ValueOf<Common, 'query', readonly []>>;
  readonly body?: ValueOf<O, 'body', undefined>;
  readonly built: ValueOf<O, 'built', true>;
};

/** Writes rows that have these facts in common. `route` is `METHOD /path`. Defaults: trusted callers only, no ETag, built. */
export const endpointsOf =
  <const Common extends EndpointOptions & Pick<Endpoint, 'scope'>>(common: Common) =>
  <
    const Id extends string,
    const Route extends `${Method} /${string}`,
    const M extends Mode,
    const O extends EndpointOptions,
  >(
    id: Id,
    route: Route,
    mode: M,
    doc: string,
    options?: O,
  ): EndpointRow<Id, Route, M, O, Common> => {
    const all: EndpointOptions & Pick<Endpoint, 'scope'> = { ...common, ...options };
    const { auth = trustedOnly, lxdAuth, scope, ...facts } = all;
    const space = route.indexOf(' ');
    const row: Endpoint = {
      query: [],
      etag: false,
      built: true,
      ...facts,
      id,
      method: route.slice(0, space) as Method,
      path: route.slice(space + 1),
      auth: classesOf(auth, scope),
      ...(lxdAuth === undefined ? {} : { lxdAuth: classesOf(lxdAuth, scope) }),
      scope,
      mode,
      doc,
    };
    return row as EndpointRow<Id, Route, M, O, Common>;
  };
