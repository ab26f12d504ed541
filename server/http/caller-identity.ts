// The identity of a caller: collects the facts that its connection proves, for the auth room's decision.
import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import { defaultProject } from '../api/project/project-names.ts';
import type { CallerFacts, ConnectionFacts } from '../auth/identify.ts';
import type { UserClaims } from '../auth/oidc/bearer-tokens.ts';
import type { Caller } from '../services/shared/caller.ts';
import { forwardedCaller, forwardedUser, isForwarded, type ForwardedUser } from './forwarded.ts';
import { withoutUndefined } from '../lib/shared/without-undefined.ts';

export interface Identity {
  readonly caller: Caller;
  readonly peerCertificate?: Uint8Array;
  readonly remoteHost?: string;
  /** The subject of a user's token, which this member has checked, or the one that forwards the request. */
  readonly subject?: string;
  /** Another member of the cluster sends it, for itself or for its caller. */
  readonly isForwarded?: boolean;
  /** A certificate that may only read metrics. */
  readonly isForMetrics?: boolean;
}

export type Identify = (connection: ConnectionFacts) => CallerFacts;

/** Tokens in the headers of requests (`BearerTokens` of the auth room). */
export interface Bearers {
  readonly isOn: boolean;
  /** Throws AppError for an invalid token. */
  admit(token: string, address: string): Promise<void>;
  claimsOf(subject: string): UserClaims | undefined;
  learn(claims: UserClaims): void;
}

/** For another member that works for the caller. Undefined: the caller is no user of a token. */
export function userToForward(bearers: Bearers, { subject }: Identity): ForwardedUser | undefined {
  if (subject === undefined) return undefined;
  // Unknown claims give nothing: the other member must still know whose work it is.
  return { subject, claims: bearers.claimsOf(subject) ?? {} };
}

/** The token of a request over TLS; undefined while no issuer is set: the header has no meaning then. */
export function bearerOf(bearers: Bearers, { socket, headers }: IncomingMessage): string | undefined {
  if (headers.authorization === undefined || !(socket instanceof TLSSocket) || !bearers.isOn) return undefined;
  return /^bearer +(\S+) *$/i.exec(headers.authorization)?.[1];
}

/** Checks the token of a request, after which `identityOf` knows its user. Undefined if there is none to check. */
export function admitBearer(bearers: Bearers, request: IncomingMessage): Promise<void> | undefined {
  const token = bearerOf(bearers, request);
  return token === undefined ? undefined : bearers.admit(token, request.socket.remoteAddress ?? '?');
}

/** The handshake proves a certificate once per connection; asking the socket again would parse all of it. */
const peerCertificates = new WeakMap<TLSSocket, Uint8Array>();

/** Undefined without one. A connection that has already ended has none: its caller is untrusted. */
function peerCertificateOf(socket: TLSSocket): Uint8Array | undefined {
  const known = peerCertificates.get(socket);
  if (known !== undefined) return known;
  const raw = (socket.getPeerCertificate() as { readonly raw?: Buffer } | null)?.raw;
  if (raw === undefined || raw.length === 0) return undefined;
  peerCertificates.set(socket, raw);
  return raw;
}

/** Local socket: anyone who may open it. TLS: by token or client certificate, checked at each request since trust can end. */
export function identityOf(
  { identify, bearers }: { readonly identify: Identify; readonly bearers: Bearers },
  request: IncomingMessage,
  project = defaultProject,
): Identity {
  const { socket } = request;
  if (!(socket instanceof TLSSocket)) {
    const found = identify({ transport: 'unix' });
    const requestor = { username: '', protocol: 'unix', address: '@' };
    return { caller: { class: found.class, requestor, project } };
  }
  const peerCertificate = peerCertificateOf(socket);
  const bearer = bearerOf(bearers, request);
  const found = identify({
    transport: 'tls',
    ...(peerCertificate === undefined ? {} : { peerCertificate, isVerified: socket.authorized }),
    ...withoutUndefined({ bearer }),
  });
  const remoteHost = socket.remoteAddress ?? '';
  if (found.internal === true && isForwarded(request.headers)) {
    const requestor = { username: '', protocol: 'cluster', address: remoteHost };
    const asking = forwardedCaller(request.headers, project) ?? { class: 'trusted' as const, requestor, project };
    const user = forwardedUser(request.headers);
    if (user !== undefined) bearers.learn(user.claims);
    return { caller: asking, isForwarded: true, ...(user === undefined ? {} : { subject: user.subject }) };
  }
  return {
    caller: {
      class: found.class,
      ...withoutUndefined({ projects: found.projects }),
      requestor:
        found.user === undefined
          ? { username: found.fingerprint ?? '', protocol: 'tls', address: remoteHost }
          : { username: found.user, protocol: 'oidc', address: remoteHost },
      project,
    },
    ...withoutUndefined({ peerCertificate, subject: found.subject }),
    ...(found.isForMetrics === true ? { isForMetrics: true } : {}),
    remoteHost,
  };
}
