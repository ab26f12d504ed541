// Connections to the other members: TLS with the certificate of the cluster at both ends, so that nobody else is taken for a member.
import type { Duplex, Readable } from 'node:stream';
import { connect as connectTls, type TLSSocket } from 'node:tls';
import { X509Certificate } from 'node:crypto';
import type { Agent } from 'undici';
import { WebSocket } from 'ws';
import { AppError, errors, errorTable, type ErrorCode } from '../api/errors.ts';
import type { Member } from './members.ts';

export interface ClusterCertificate {
  readonly certPem: string;
  readonly keyPem: string;
  /** PEM of others that a member may serve with: the cluster changes its certificate. */
  readonly others?: readonly string[];
}

export interface PeerRequest {
  readonly method: string;
  /** With its query. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Readable | string | null;
  readonly signal?: AbortSignal;
  /** Until the headers of the answer are there; default: as long as it takes. */
  readonly timeoutMs?: number;
}

export interface PeerAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Readable;
}

/** A member that does not take a connection in this time does not answer. */
const connectMs = 3_000;
const maxConnections = 128;

export class PeerLinks {
  readonly #certificate: () => ClusterCertificate;
  #agent: { readonly of: string; readonly agent: Agent } | undefined;

  constructor(certificate: () => ClusterCertificate) {
    this.#certificate = certificate;
  }

  /** Throws AppError unavailable, with the name of the member, when it cannot be reached. */
  async request(member: Pick<Member, 'name' | 'address'>, request: PeerRequest): Promise<PeerAnswer> {
    try {
      const { statusCode, headers, body } = await (
        await this.#agentNow()
      ).request({
        origin: `https://${member.address}`,
        path: request.path,
        method: request.method,
        headers: request.headers,
        body: request.body ?? null,
        headersTimeout: request.timeoutMs ?? 0,
        bodyTimeout: 0,
        ...(request.signal === undefined ? {} : { signal: request.signal }),
      });
      return { status: statusCode, headers, body };
    } catch (error) {
      throw unreachable(member.name, error);
    }
  }

  /** What the other member answers in its own dialect, of a request by a member. Throws AppError as it answered. */
  async json<T>(member: Pick<Member, 'name' | 'address'>, request: PeerRequest): Promise<T> {
    const { status, body } = await this.request(member, request);
    const text = await textOf(body);
    const { metadata } = JSON.parse(text) as { readonly metadata?: unknown };
    if (status < 400) return metadata as T;
    const { code, message = text } = (metadata ?? {}) as { readonly code?: string; readonly message?: string };
    throw new AppError(isErrorCode(code) ? code : 'internal', `The cluster member ${member.name}: ${message}`);
  }

  /** A connection of its own, for what is no request any more after its beginning. */
  dial(member: Pick<Member, 'name' | 'address'>): Promise<Duplex> {
    const { certPem, keyPem, others } = this.#certificate();
    const url = new URL(`https://${member.address}`);
    return new Promise((resolve, reject) => {
      const socket: TLSSocket = connectTls({
        host: url.hostname.replace(/^\[|\]$/g, ''),
        port: Number(url.port || '8443'),
        cert: certPem,
        key: keyPem,
        rejectUnauthorized: false,
        timeout: connectMs,
      });
      const fail = (error: Error): void => {
        socket.destroy();
        reject(unreachable(member.name, error));
      };
      socket.once('error', fail);
      socket.once('timeout', () => fail(new Error(`it does not answer at ${member.address}`)));
      socket.once('secureConnect', () => {
        if (!isOneOf(socket.getPeerCertificate().raw, [certPem, ...(others ?? [])]))
          return fail(foreign(member.address));
        socket.setTimeout(0);
        socket.off('error', fail);
        resolve(socket);
      });
    });
  }

  /** Events and errors of the connection are those of the websocket. */
  websocket(member: Pick<Member, 'address'>, path: string, headers: Readonly<Record<string, string>>): WebSocket {
    return new WebSocket(`wss://${member.address}${path}`, {
      ...this.#tls(),
      headers,
      handshakeTimeout: connectMs,
      perMessageDeflate: false,
    });
  }

  async close(): Promise<void> {
    await this.#agent?.agent.destroy();
    this.#agent = undefined;
  }

  /** The certificate of the cluster is its own authority, whoever signed it, and under whatever name the member is reached. */
  #tls() {
    const { certPem, keyPem, others = [] } = this.#certificate();
    const known = [certPem, ...others];
    return {
      cert: certPem,
      key: keyPem,
      ca: known,
      allowPartialTrustChain: true,
      // Members have addresses, which are no names of servers.
      servername: '',
      checkServerIdentity: (_host: string, certificate: { readonly raw: Buffer }) =>
        isOneOf(certificate.raw, known) ? undefined : foreign('the address of the member'),
    };
  }

  /** The library is loaded when there is another member to ask. */
  async #agentNow(): Promise<Agent> {
    // In the bundle the default export is all that there is.
    const { Agent: Connections } = (await import('undici')).default;
    const { certPem, others = [] } = this.#certificate();
    const of = [certPem, ...others].join();
    if (this.#agent?.of === of) return this.#agent.agent;
    void this.#agent?.agent.close();
    const agent = new Connections({
      connections: maxConnections,
      keepAliveTimeout: 30_000,
      allowH2: false,
      connect: { ...this.#tls(), timeout: connectMs },
    });
    this.#agent = { of, agent };
    return agent;
  }
}

const isErrorCode = (code: string | undefined): code is ErrorCode =>
  code !== undefined && Object.hasOwn(errorTable, code);

const isOneOf = (raw: Uint8Array | undefined, known: readonly string[]): boolean =>
  raw !== undefined && known.some((certPem) => new X509Certificate(certPem).raw.equals(raw));

const foreign = (where: string): Error =>
  new Error(`the server at ${where} does not have the certificate of the cluster`);

function unreachable(name: string, error: unknown): AppError {
  if (error instanceof AppError) return error;
  return errors.unavailable(`The cluster member ${name} cannot be reached`, error);
}

async function textOf(body: Readable): Promise<string> {
  let text = '';
  for await (const chunk of body.setEncoding('utf8')) text += String(chunk);
  return text;
}
