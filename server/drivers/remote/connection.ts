// Requests to other servers: TLS with a pinned certificate or the host's authorities, proxies, limited redirects, time limits, limited
// documents. Knows no image protocol.
import { createHash } from 'node:crypto';
import type { Readable } from 'node:stream';
import type * as Undici from 'undici';
import { codeOf } from '../../lib/shared/error-code.ts';
import { readWhole } from '../../lib/shared/read-whole.ts';
import { shapeProblem, type JsonShape } from '../../lib/json-shape.ts';
import { proxyFor, type ProxySettings } from '../../lib/shared/net/proxy-for.ts';
import { checkReach, lookupWithin, OutOfReach, type Reach } from '../../lib/reach.ts';
import { DriverError, driverErrors } from '../driver-error.ts';
import { parseAside, type ParseJob } from '../parse-in-thread.ts';
import { redirectTarget, shown } from './address.ts';
import { fingerprintOf } from './certificate.ts';
import type { RemoteLimits } from './driver.ts';

export interface ConnectionOptions {
  /** PEM; see RemoteServer. */
  readonly certificate: string;
  readonly proxies: ProxySettings;
  readonly limits: RemoteLimits;
  readonly userAgent: string;
  /** Absent: anywhere. */
  readonly reach?: Reach | undefined;
}

export interface Answer {
  /** The URL after redirects. */
  readonly url: URL;
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  /** The caller reads or destroys it. */
  readonly body: Readable;
}

/** Runs `work` with separate connections, which end with it. */
export async function withConnection<T>(
  options: ConnectionOptions,
  work: (connection: RemoteConnection) => Promise<T>,
): Promise<T> {
  const connection = new RemoteConnection(options);
  try {
    return await work(connection);
  } finally {
    await connection.close();
  }
}

export class RemoteConnection {
  readonly #options: ConnectionOptions;
  readonly #tls: TlsTrust;
  readonly #dispatchers = new Map<string, Undici.Dispatcher>();

  constructor(options: ConnectionOptions) {
    this.#options = options;
    this.#tls = trustOf(options.certificate);
  }

  /** Any status but redirects resolves. Throws Failed if there is no answer. */
  async open(
    method: 'GET' | 'HEAD',
    start: URL,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Answer> {
    const { limits } = this.#options;
    let url = start;
    for (let redirects = 0; redirects <= limits.redirects; redirects += 1) {
      const answer = await this.#ask(method, url, headers, signal);
      if (![301, 302, 303, 307, 308].includes(answer.status)) return answer;
      answer.body.on('error', () => {}).destroy();
      url = redirectTarget(url, single(answer.headers['location']));
    }
    throw driverErrors.failed(`${shown(start)} redirects more than ${limits.redirects} times`);
  }

  /** The parsed document. Throws NotFound for 404, Failed for other bad answers, Invalid if it is no JSON or too large. */
  async json(url: URL, maxBytes: number, signal: AbortSignal): Promise<unknown> {
    return parse(url, await this.#document(url, maxBytes, signal));
  }

  /** The job's result for a document that may be large. Throws like `json`. */
  async parsed(job: ParseJob, url: URL, maxBytes: number, signal: AbortSignal): Promise<readonly unknown[]> {
    const bytes = await this.#document(url, maxBytes, signal);
    return parseAside({ job, bytes }, `the answer of ${shown(url)}`, signal);
  }

  async #document(url: URL, maxBytes: number, signal: AbortSignal): Promise<Buffer> {
    const { limits } = this.#options;
    const timeout = AbortSignal.timeout(limits.answerMs);
    const both = AbortSignal.any([signal, timeout]);
    try {
      const answer = await this.open('GET', url, {}, both);
      const isGood = answer.status === 200;
      const bytes = await readBytes(answer, isGood ? maxBytes : 64 * 1024, both);
      if (!isGood) throw refusal(url, answer.status, bytes.toString('utf8'));
      return bytes;
    } catch (error) {
      signal.throwIfAborted();
      if (timeout.aborted) throw driverErrors.failed(`${shown(url)} took longer than ${limits.answerMs} ms to answer`);
      throw error instanceof DriverError ? error : unreachable(url, error);
    }
  }

  async close(): Promise<void> {
    await Promise.all([...this.#dispatchers.values()].map((dispatcher) => dispatcher.destroy()));
  }

  async #ask(
    method: 'GET' | 'HEAD',
    url: URL,
    headers: Readonly<Record<string, string>>,
    signal: AbortSignal,
  ): Promise<Answer> {
    try {
      await this.#needReach(url);
      // The bundle has only the default export.
      const { default: undici } = await import('undici');
      const {
        statusCode,
        headers: answered,
        body,
      } = await undici.request(url, {
        method,
        headers: { 'user-agent': this.#options.userAgent, 'accept-encoding': 'identity', ...headers },
        dispatcher: this.#dispatcher(url, undici),
        signal,
      });
      const encoding = single(answered['content-encoding']) ?? 'identity';
      if (encoding !== 'identity') {
        body.on('error', () => {}).destroy();
        throw driverErrors.invalid(`${shown(url)} answers packed as ${encoding.slice(0, 40)}, which was not asked for`);
      }
      return { url, status: statusCode, headers: answered, body };
    } catch (error) {
      signal.throwIfAborted();
      throw error instanceof DriverError ? error : unreachable(url, error);
    }
  }

  /** A proxy resolves names by itself. Every other connection is also checked when it connects. */
  async #needReach(url: URL): Promise<void> {
    if (this.#options.reach !== undefined) await checkReach(url.hostname, this.#options.reach);
  }

  /** One dispatcher without a proxy, one per proxy. */
  #dispatcher(url: URL, { Agent, Pool, ProxyAgent }: (typeof Undici)['default']): Undici.Dispatcher {
    const { proxies, limits, reach } = this.#options;
    const proxy = proxyFor(url, proxies) ?? '';
    const known = this.#dispatchers.get(proxy);
    if (known !== undefined) return known;
    const times = { headersTimeout: limits.answerMs, bodyTimeout: limits.paceMs, keepAliveTimeout: 1000 };
    const trust = { ...this.#tls, timeout: limits.connectMs, maxCachedSessions: 0 };
    const made =
      proxy === ''
        ? new Agent({
            ...times,
            connect: { ...trust, ...(reach === undefined ? {} : { lookup: lookupWithin(reach) }) },
          })
        : new ProxyAgent({
            ...times,
            uri: proxy,
            proxyTunnel: false,
            requestTls: trust,
            proxyTls: { timeout: limits.connectMs },
            clientFactory: (origin, clientOptions) => new Pool(origin, { ...clientOptions, ...times }),
          });
    this.#dispatchers.set(proxy, made);
    return made;
  }
}

export const single = (header: string | string[] | undefined): string | undefined =>
  Array.isArray(header) ? header[0] : header;

interface TlsTrust {
  readonly minVersion: 'TLSv1.2';
  readonly ca?: string;
  readonly allowPartialTrustChain?: true;
  readonly checkServerIdentity?: (host: string, certificate: { readonly raw: Buffer }) => Error | undefined;
}

/** A pin replaces authorities and the host name check: only this certificate is accepted. */
function trustOf(pem: string): TlsTrust {
  if (pem === '') return { minVersion: 'TLSv1.2' };
  const pin = fingerprintOf(pem);
  return {
    minVersion: 'TLSv1.2',
    ca: pem,
    allowPartialTrustChain: true,
    checkServerIdentity: (_host, { raw }) => {
      const seen = createHash('sha256').update(raw).digest('hex');
      return seen === pin ? undefined : new Error(`its certificate has fingerprint ${seen}, expected is ${pin}`);
    },
  };
}

async function readBytes(answer: Answer, maxBytes: number, signal: AbortSignal): Promise<Buffer> {
  const abort = (): void => void answer.body.destroy(signal.reason as Error);
  signal.addEventListener('abort', abort, { once: true });
  try {
    return await readWhole(answer.body as AsyncIterable<Buffer>, maxBytes, () =>
      driverErrors.invalid(`${shown(answer.url)} answers with more than ${maxBytes} bytes`),
    );
  } finally {
    signal.removeEventListener('abort', abort);
  }
}

/** The shape of one object, or of a list of names: parsing more would block the event loop. */
const shape: JsonShape = { maxDepth: 64, maxValues: 50_000 };

function parse(url: URL, bytes: Buffer): unknown {
  const broken = shapeProblem(bytes, shape);
  if (broken !== undefined) throw driverErrors.invalid(`${shown(url)} answers with a document that ${broken}`);
  try {
    return JSON.parse(bytes.toString('utf8')) as unknown;
  } catch (error) {
    throw driverErrors.invalid(`${shown(url)} answers with something that is not JSON`, error);
  }
}

/** `text`: the server's explanation, in JSON or plain text. */
export function refusal(url: URL, status: number, text: string): DriverError {
  let why = text;
  try {
    const parsed: unknown = JSON.parse(text);
    if (typeof parsed === 'object' && parsed !== null) why = wordsOf(parsed);
  } catch {
    if (/^\s*</.test(text)) why = '';
  }
  const words = printable(why);
  const message = `${shown(url)} answers ${status}${words === '' ? '' : `: ${words}`}`;
  return new DriverError(status === 404 ? 'NotFound' : 'Failed', message);
}

/** In either dialect: the text is the error, or it is in the metadata. */
function wordsOf(body: object): string {
  const { error, metadata } = body as { readonly error?: unknown; readonly metadata?: unknown };
  const inner =
    typeof metadata === 'object' && metadata !== null ? (metadata as { message?: unknown }).message : undefined;
  return typeof inner === 'string' ? inner : typeof error === 'string' ? error : '';
}

/** Untrusted text, made safe for a message. */
const printable = (text: string): string =>
  text
    .replaceAll(/[^\x20-\x7e]+/g, ' ')
    .trim()
    .slice(0, 300);

const certificateCodes = /^(DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_|CERT_|ERR_TLS_CERT)/;

/** What to check, for the errors of a host without a network. */
function unreachableHint(url: URL, code: string): string {
  const check = 'check the network of the host of this daemon, and core.proxy_https where it needs a proxy';
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return ` (the name ${url.hostname} cannot be resolved: ${check})`;
  return /^(ECONNREFUSED|ETIMEDOUT|E(HOST|NET)UNREACH|UND_ERR_CONNECT_TIMEOUT)$/.test(code)
    ? ` (no answer from ${url.host}: ${check})`
    : '';
}

function unreachable(url: URL, error: unknown): DriverError {
  if (error instanceof OutOfReach) return driverErrors.invalid(`cannot ask ${shown(url)}`, error);
  const code = codeOf(error);
  const hint = certificateCodes.test(code)
    ? ': its certificate is not trusted here; give it as source.certificate'
    : unreachableHint(url, code);
  return driverErrors.failed(`cannot reach ${shown(url)}${hint}`, error);
}
