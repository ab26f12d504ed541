// Connections to the other members: mutual TLS with pinned member certificates.
import type { Duplex, Readable } from 'node:stream';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { X509Certificate } from 'node:crypto';
import type { Agent } from 'undici';
import { WebSocket } from 'ws';
import { AppError, errors, errorTable, type ErrorCode } from '../api/errors.ts';
import { memberServerName, type MemberPair } from './keys/identity.ts';
import type { Member } from './members.ts';

export interface PeerLinksDeps {
  /** The certificate of this member; undefined: peers do not know it yet. */
  readonly own: () => MemberPair | undefined;
  /** PEM of the certificate of the member with this name; undefined: it has none. */
  readonly certificateOf: (name: string) => string | undefined;
}

/** `isPresent`: unknown counts as true. */
type Peer = Pick<Member, 'name' | 'address'> & Partial<Pick<Member, 'isPresent'>>;

export interface PeerRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Readable | string | null;
  readonly signal?: AbortSignal;
  /** Time limit for the headers of the answer; default: none. */
  readonly timeoutMs?: number;
  /** The member gives up its lease while it carries out the request. */
  readonly outlivesLease?: boolean;
}

export interface PeerAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Readable;
}

/** How long a member may take to accept a connection. */
const connectMs = 3_000;
/** How long a member without a lease may take to answer, before it counts as frozen: the kernel of a frozen one accepts connections. */
const absentMs = 5_000;
const maxConnections = 128;

export class PeerLinks {
  readonly #deps: PeerLinksDeps;
  /** Aborts of the requests without a complete answer, and of the connections, by address. */
  readonly #asked = new Map<string, Set<() => void>>();
  /** By address. */
  readonly #agents = new Map<string, { readonly of: string; readonly agent: Agent }>();

  constructor(deps: PeerLinksDeps) {
    this.#deps = deps;
  }

  /** Throws AppError with the name of the member: unavailable if it was not reached, outcomeUnknown if it may have made a change. */
  async request(member: Peer, request: PeerRequest): Promise<PeerAnswer> {
    const leaseEnd = new AbortController();
    const mayHaveChanged = request.method !== 'GET';
    const stop = (): void => leaseEnd.abort(stoppedRenewing(member.name, mayHaveChanged));
    const leave = request.outlivesLease === true ? () => undefined : this.#enter(member, stop);
    const signal = request.signal === undefined ? leaseEnd.signal : AbortSignal.any([leaseEnd.signal, request.signal]);
    try {
      const { statusCode, headers, body } = await (
        await this.#agentFor(member)
      ).request({
        origin: `https://${member.address}`,
        path: request.path,
        method: request.method,
        headers: request.headers,
        body: request.body ?? null,
        headersTimeout: request.timeoutMs ?? (member.isPresent === false ? absentMs : 0),
        bodyTimeout: 0,
        signal,
      });
      body.once('close', leave);
      return { status: statusCode, headers, body };
    } catch (error) {
      leave();
      throw unanswered(member.name, error, mayHaveChanged);
    }
  }

  /** Aborts its pending requests and connections: it has lost its lease, and may be frozen. */
  giveUp({ address }: Peer): void {
    for (const end of this.#asked.get(address) ?? []) end();
  }

  /** Calls `end` when the member's lease ends, unless the returned function was called before. */
  #enter({ address }: Peer, end: () => void): () => void {
    const all = this.#asked.get(address) ?? new Set();
    this.#asked.set(address, all.add(end));
    return () => {
      all.delete(end);
      if (all.size === 0 && this.#asked.get(address) === all) this.#asked.delete(address);
    };
  }

  /** The member's answer, in its own dialect, to a request of a member. Throws its AppError. */
  async json<T>(member: Peer, request: PeerRequest): Promise<T> {
    const { status, body } = await this.request(member, request);
    const text = await textOf(body).catch((error: unknown) => {
      throw unanswered(member.name, error, request.method !== 'GET');
    });
    const { metadata } = JSON.parse(text) as { readonly metadata?: unknown };
    if (status < 400) return metadata as T;
    const { code, message = text } = (metadata ?? {}) as { readonly code?: string; readonly message?: string };
    throw new AppError(isErrorCode(code) ? code : 'internal', `The cluster member ${member.name}: ${message}`);
  }

  /** A separate connection for a protocol that begins as a request. It ends with the member's lease. */
  dial(member: Peer): Promise<Duplex> {
    const { known, ...shown } = this.#ends(member);
    const url = new URL(`https://${member.address}`);
    return new Promise((resolve, reject) => {
      const socket: TLSSocket = connectTls({
        host: url.hostname.replace(/^\[|\]$/g, ''),
        port: Number(url.port || '8443'),
        ...shown,
        rejectUnauthorized: false,
        timeout: connectMs,
      });
      socket.once(
        'close',
        this.#enter(member, () => socket.destroy(stoppedRenewing(member.name, false))),
      );
      const fail = (error: Error): void => {
        socket.destroy();
        reject(unreachable(member.name, error));
      };
      socket.once('error', fail);
      socket.once('timeout', () => fail(new Error(`it does not answer at ${member.address}`)));
      socket.once('secureConnect', () => {
        if (!isOneOf(socket.getPeerCertificate().raw, known)) return fail(foreign(member.address));
        socket.setTimeout(0);
        socket.off('error', fail);
        resolve(socket);
      });
    });
  }

  /** The websocket reports events and errors of the connection. */
  websocket(member: Peer, path: string, headers: Readonly<Record<string, string>>): WebSocket {
    return new WebSocket(`wss://${member.address}${path}`, {
      ...this.#tls(member),
      headers,
      handshakeTimeout: connectMs,
      perMessageDeflate: false,
    });
  }

  async close(): Promise<void> {
    await Promise.all([...this.#agents.values()].map(({ agent }) => agent.destroy()));
    this.#agents.clear();
  }

  /** The certificate that this member shows, and the one that the peer must have: no other host passes. */
  #ends({ name }: Peer) {
    const [its, own] = [this.#deps.certificateOf(name), this.#deps.own()];
    return {
      ...(own === undefined ? {} : { cert: own.certPem, key: own.keyPem }),
      known: its === undefined ? [] : [its],
      // Members have addresses, which are no server names.
      servername: memberServerName,
    };
  }

  /** The peer's certificate is its own authority, whoever signed it and whatever its name. */
  #tls(member: Peer) {
    const { known, ...shown } = this.#ends(member);
    return {
      ...shown,
      ca: [...known],
      allowPartialTrustChain: true,
      checkServerIdentity: (_host: string, certificate: { readonly raw: Buffer }) =>
        isOneOf(certificate.raw, known) ? undefined : foreign(`the address of the member ${member.name}`),
    };
  }

  /** Loads the library when there is another member to ask. */
  async #agentFor(member: Peer): Promise<Agent> {
    // The bundle has only the default export.
    const { Agent: Connections, buildConnector } = (await import('undici')).default;
    const tls = this.#tls(member);
    const of = [tls.cert, ...tls.ca].join();
    const former = this.#agents.get(member.address);
    if (former?.of === of) return former.agent;
    void former?.agent.close();
    const open = buildConnector({ ...tls, timeout: connectMs });
    const agent = new Connections({
      connections: maxConnections,
      keepAliveTimeout: 30_000,
      allowH2: false,
      connect: (options, done) =>
        open(options, (error, socket) =>
          error === null ? done(null, socket) : done(new NotConnected(error.message, { cause: error }), null),
        ),
    });
    this.#agents.set(member.address, { of, agent });
    return agent;
  }
}

const isErrorCode = (code: string | undefined): code is ErrorCode =>
  code !== undefined && Object.hasOwn(errorTable, code);

const isOneOf = (raw: Uint8Array | undefined, known: readonly string[]): boolean =>
  raw !== undefined && known.some((certPem) => new X509Certificate(certPem).raw.equals(raw));

const foreign = (where: string): Error =>
  new Error(`the server at ${where} does not have the certificate of that member of the cluster`);

/** No connection was made, so no request was sent. */
class NotConnected extends Error {
  override readonly name = 'NotConnected';
}

function unanswered(name: string, error: unknown, mayHaveChanged: boolean): AppError {
  if (error instanceof AppError) return error;
  if (error instanceof NotConnected) return unreachable(name, error.cause);
  if (!mayHaveChanged) return unreachable(name, error);
  return errors.outcomeUnknown(
    `The cluster member ${name} did not answer: it may or may not have done it, so read the object before asking again`,
    error,
  );
}

const unreachable = (name: string, error: unknown): AppError =>
  errors.unavailable(`The cluster member ${name} cannot be reached`, error);

function stoppedRenewing(name: string, mayHaveChanged: boolean): AppError {
  const what = `The cluster member ${name} has stopped renewing its lease, and did not answer`;
  return mayHaveChanged
    ? errors.outcomeUnknown(`${what}: it may or may not have done it, so read the object before asking again`)
    : errors.unavailable(what);
}

async function textOf(body: Readable): Promise<string> {
  let text = '';
  for await (const chunk of body.setEncoding('utf8')) text += String(chunk);
  return text;
}
