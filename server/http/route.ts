// The input and answer of a route handler; handlers never see sockets or write responses. The endpoint table types bodies, query and path
// parameters.
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { Static, TSchema } from 'typebox';
import type { EndpointId, endpoints } from '../api/endpoints/endpoint-table.ts';
import { errors } from '../api/errors.ts';
import { isTrue } from '../api/text/value-checks.ts';
import type { Operation } from '../api/operation.ts';
import type { Caller } from '../services/shared/caller.ts';
import type { ProjectNames } from '../services/shared/project-scope.ts';
import { recursionOf } from '../api/text/recursion.ts';
import { withoutUndefined } from '../lib/shared/without-undefined.ts';

export { recursionOf };

export interface RouteContext<Params = Readonly<Record<string, string>>, Query = TextQuery, Body = unknown> {
  readonly caller: Caller;
  /** Names of objects in a project are qualified names (`project-names.ts`). */
  readonly params: Params;
  /** Qualifies names in bodies. */
  readonly names: ProjectNames;
  /** The same for another project that a body names (undefined or empty: the request's). Throws AppError notFound. */
  readonly namesOf: (project: string | undefined) => ProjectNames;
  readonly query: Query;
  readonly ifMatch: string | undefined;
  /** Parsed and checked against the endpoint's schema; undefined without a schema. */
  readonly body: Body;
  /** The raw request, for uploads only. */
  readonly request: IncomingMessage;
  readonly peerCertificate?: Uint8Array;
  readonly remoteHost?: string;
  /** Another member of the cluster requests this member's part. */
  readonly isForwarded?: boolean;
  /** Aborts when the client disconnects. */
  readonly signal: AbortSignal;
}

type TextQuery = Readonly<Record<string, string | undefined>>;

export type RouteReply =
  | {
      readonly kind: 'sync';
      readonly metadata: unknown;
      readonly etag?: string;
      readonly location?: string;
      /** Added to the dialect's. */
      readonly headers?: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'async'; readonly operation: Operation }
  | StreamReply;

export interface StreamReply {
  readonly kind: 'stream';
  /** Default 200. */
  readonly status?: 206;
  readonly headers: Readonly<Record<string, string>>;
  readonly stream: Readable;
}

type Row<Id extends EndpointId> = Extract<(typeof endpoints)[number], { readonly id: Id }>;
type SegmentName<Segment> = Segment extends `:${infer Name}` ? Name : Segment extends '*' ? '*' : never;
type ParamName<Path> = Path extends `${infer Segment}/${infer Rest}`
  ? SegmentName<Segment> | ParamName<Rest>
  : SegmentName<Path>;
type BodyOf<Schema> = [Schema] extends [never] ? undefined : Schema extends TSchema ? Static<Schema> : never;

export type ContextOf<Id extends EndpointId> = RouteContext<
  Readonly<Record<ParamName<Row<Id>['path']>, string>>,
  Readonly<Partial<Record<Row<Id>['query'][number] | 'project', string>>>,
  BodyOf<NonNullable<Row<Id>['body']>>
>;

/** Websockets are upgraded instead, and unimplemented endpoints are refused. */
export type ServedId = Exclude<
  EndpointId,
  Extract<(typeof endpoints)[number], { mode: 'websocket' } | { built: false }>['id']
>;

/** The part of several endpoints' contexts that a helper reads. */
export interface WithParams<Names extends string> {
  readonly params: Readonly<Record<Names, string>>;
}

export type RouteHandler<Context = RouteContext> = (context: Context) => RouteReply | Promise<RouteReply>;
export type RouteTable = { readonly [Id in ServedId]: RouteHandler<ContextOf<Id>> };

/** The handler for requests whose body and parameters were checked against the row of this endpoint. */
export const handlerOf = (routes: RouteTable, id: string): RouteHandler | undefined =>
  (routes as Readonly<Record<string, RouteHandler>>)[id];

export const sync = (metadata: unknown, etag?: string): RouteReply => ({
  kind: 'sync',
  metadata,
  ...withoutUndefined({ etag }),
});
export const done: RouteReply = { kind: 'sync', metadata: {} };
export const movedTo = (location: string): RouteReply => ({ kind: 'sync', metadata: null, location });
export async function doneAfter(work: Promise<unknown>): Promise<RouteReply> {
  await work;
  return done;
}
export async function movedAfter(work: Promise<unknown>, location: string): Promise<RouteReply> {
  await work;
  return movedTo(location);
}
export const found = ({ object, etag }: { readonly object: unknown; readonly etag: string }): RouteReply =>
  sync(object, etag);
export const async_ = (operation: Operation): RouteReply => ({ kind: 'async', operation });

/** Lists of every project at once (`all-projects=true`). */
export const isOfAllProjects = (query: {
  readonly 'all-projects'?: string | undefined;
  readonly project?: string | undefined;
}): boolean => isTrue(query['all-projects']);

/** The project whose objects a list shows; undefined: those of all. Throws AppError badRequest when the request names one and asks for all. */
export function listedProject(query: Parameters<typeof isOfAllProjects>[0], caller: Caller): string | undefined {
  return isOfAllProjects(query) ? refuseProject(query) : caller.project;
}

export function refuseProject({ project = '' }: { readonly project?: string | undefined }): undefined {
  if (project !== '') throw errors.badRequest(`all-projects lists every project: leave out project (${project})`);
}

/** A collection: URLs, or the objects with `recursion` (spec 4). */
export function collection(
  query: { readonly recursion?: string | undefined },
  urls: () => readonly string[],
  objects: () => readonly unknown[],
): RouteReply {
  return sync(recursionOf(query) > 0 ? objects() : urls());
}
