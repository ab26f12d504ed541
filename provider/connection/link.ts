// The connection that resources use: the client of one daemon, the features of that daemon, and reads that many objects share.
import { hasExtension as isKnown, lackOfCluster, lackOfExtension } from '../../server/api/server/capability.ts';
import type { Server } from '../../server/api/server/server.ts';
import type { Client } from '../../server/client/client.ts';
import { DiagnosticError, failure } from '../framework/diagnostic.ts';
import type { Activity } from './activity.ts';
import type { ObjectReader } from './reader.ts';

/** The server and project that an object names itself. */
export interface Scope {
  /** One of the provider's remotes. */
  readonly remote: string | null;
  readonly project: string | null;
}

/** All servers and projects that one provider block reaches. */
export interface Reach {
  /** Names of the remotes. */
  readonly remotes: readonly string[];
  /** A text that is equal for scopes with the same place. */
  placeOf(scope: Scope): string;
  /** Whether both scopes have the same objects, since several remotes may name one server. Throws DiagnosticError. */
  isSamePlace(one: Scope, other: Scope): Promise<boolean>;
  /** Connects to a remote at its first use. Throws DiagnosticError. */
  at(scope: Scope): Promise<Link>;
}

export interface Link {
  readonly reach: Reach;
  readonly client: Client;
  readonly server: Server;
  readonly reader: ObjectReader;
  /** The writes of this provider to this server. */
  readonly activity: Activity;
  readonly project: string | undefined;
  readonly target: string | undefined;
}

export const hasExtension = (link: Link, extension: string): boolean => isKnown(link.server.api_extensions, extension);

/** Servers other than gantryd have their own keys, limits and quirks. */
export const isGantry = (link: Link): boolean => link.server.environment.server === 'gantry';

export const isClustered = (link: Link): boolean => link.server.environment.server_clustered;

/** Throws DiagnosticError when the server lacks the extension that `what` needs. */
export function needExtension(link: Link, extension: string, what: string): void {
  const why = lackOfExtension(link.server.api_extensions, extension);
  if (why !== undefined) throw lacking(link, what, why);
}

export function needCluster(link: Link, what: string): void {
  const why = lackOfCluster(isClustered(link));
  if (why !== undefined) throw lacking(link, what, why);
}

export const lacking = (link: Link, what: string, why: string, cause?: unknown): DiagnosticError =>
  new DiagnosticError(
    [failure(`This server cannot ${what}`, `${link.client.host}: ${why}. Leave it out, or use a server that can.`)],
    cause,
  );
