// What a route handler gets and answers with; no handler sees sockets or writes responses itself.
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { EndpointId } from '../api/endpoints/endpoint-table.ts';
import type { Operation } from '../api/operation.ts';
import type { Caller } from '../services/caller.ts';

export interface RouteContext {
  readonly caller: Caller;
  readonly params: Readonly<Record<string, string>>;
  readonly query: Readonly<Record<string, string>>;
  readonly ifMatch: string | undefined;
  /** Parsed and checked against the endpoint's schema; undefined where it has none. */
  readonly body: unknown;
  /** The raw request, for uploads only. */
  readonly request: IncomingMessage;
  readonly peerCertificate?: Uint8Array;
  readonly remoteHost?: string;
  /** Aborts when the client goes away. */
  readonly signal: AbortSignal;
}

export type RouteReply =
  | {
      readonly kind: 'sync';
      readonly metadata: unknown;
      readonly etag?: string;
      readonly location?: string;
      /** Besides those of the dialect. */
      readonly headers?: Readonly<Record<string, string>>;
    }
  | { readonly kind: 'async'; readonly operation: Operation }
  | {
      readonly kind: 'stream';
      /** Default 200. */
      readonly status?: 206;
      readonly headers: Readonly<Record<string, string>>;
      readonly stream: Readable;
    };

export type RouteHandler = (context: RouteContext) => RouteReply | Promise<RouteReply>;
export type RouteTable = Partial<Record<EndpointId, RouteHandler>>;

export const sync = (metadata: unknown, etag?: string): RouteReply => ({
  kind: 'sync',
  metadata,
  ...(etag === undefined ? {} : { etag }),
});
export const done: RouteReply = { kind: 'sync', metadata: {} };
export const movedTo = (location: string): RouteReply => ({ kind: 'sync', metadata: null, location });
export const async_ = (operation: Operation): RouteReply => ({ kind: 'async', operation });

/** A collection: URLs, or the objects with `recursion` (spec 4). Not a number = 0. */
export function collection(
  query: Readonly<Record<string, string>>,
  urls: () => readonly string[],
  objects: () => readonly unknown[],
): RouteReply {
  return sync(recursionOf(query) > 0 ? objects() : urls());
}

export function recursionOf(query: Readonly<Record<string, string>>): number {
  const parsed = Number.parseInt(query['recursion'] ?? '0', 10);
  return Number.isNaN(parsed) ? 0 : parsed;
}

/** A path parameter that the route's path guarantees. */
export function param(context: RouteContext, name: string): string {
  return context.params[name] ?? '';
}
