// The listener of core.debug_address: profiles of this daemon by plain HTTP, at the paths where pprof expects them.
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { isIP, type AddressInfo } from 'node:net';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import { defaultDebugPort, parseListenAddress } from '../api/server/listen-address.ts';
import type { Log } from '../lib/log.ts';
import { errorText } from '../lib/shared/reason.ts';
import type { Profiler } from './profiler.ts';

const defaultSeconds = 30;
const maxSeconds = 300;
const compress = promisify(gzip);

const index = `Profiles of gantryd, for "go tool pprof http://ADDRESS/debug/pprof/NAME":

  /debug/pprof/profile?seconds=30   where the processor time of the main thread goes
  /debug/pprof/heap                 what has memory, of what was allocated since this listener opened
  /debug/pprof/cmdline              the command line
`;

interface Answer {
  readonly status: number;
  readonly body: string | Uint8Array;
}

export class DebugListener {
  readonly #log: Pick<Log, 'warn' | 'error'>;
  #open: { readonly server: Server; readonly profiler: Profiler; readonly end: AbortController } | undefined;
  #wanted: string | undefined;

  constructor(log: Pick<Log, 'warn' | 'error'>) {
    this.#log = log;
  }

  /** host:port as bound; undefined if it does not listen. */
  get address(): string | undefined {
    const bound = this.#open?.server.address() as AddressInfo | null | undefined;
    if (bound === undefined || bound === null) return undefined;
    return `${bound.family === 'IPv6' ? `[${bound.address}]` : bound.address}:${bound.port}`;
  }

  /** Undefined or empty: stops listening. The current address changes nothing. On a throw it does not listen. */
  async listen(address: string | undefined): Promise<void> {
    const wanted = address === '' ? undefined : address;
    if (wanted === this.#wanted) return;
    await this.close();
    const place = wanted === undefined ? undefined : parseListenAddress(wanted, defaultDebugPort);
    if (wanted === undefined || place === undefined) return;
    const { openProfiler } = await import('./profiler.ts');
    const profiler = await openProfiler();
    const end = new AbortController();
    const server = createServer(
      (request, response) => void this.#answer(profiler, place.host, end.signal, request, response),
    );
    try {
      await once(server.listen(place.port, place.host === '' ? '127.0.0.1' : place.host), 'listening');
    } catch (error) {
      profiler.close();
      throw error;
    }
    this.#open = { server, profiler, end };
    this.#wanted = wanted;
    if (!isLoopback(this.address ?? ''))
      this.#log.warn(`Everyone who reaches ${this.address} can take profiles of this daemon (core.debug_address)`);
  }

  async close(): Promise<void> {
    const open = this.#open;
    this.#open = undefined;
    this.#wanted = undefined;
    if (open === undefined) return;
    open.end.abort();
    open.server.closeAllConnections();
    await new Promise((resolve) => open.server.close(resolve));
    open.profiler.close();
  }

  async #answer(
    profiler: Profiler,
    ownName: string,
    ended: AbortSignal,
    request: IncomingMessage,
    response: ServerResponse,
  ): Promise<void> {
    const gone = new AbortController();
    response.once('close', () => gone.abort());
    try {
      const answer =
        refusal(request, ownName) ??
        (await profileFor(profiler, request.url ?? '', AbortSignal.any([ended, gone.signal])));
      const isText = typeof answer.body === 'string';
      response.writeHead(answer.status, {
        'content-type': isText ? 'text/plain; charset=utf-8' : 'application/octet-stream',
        'x-content-type-options': 'nosniff',
      });
      response.end(answer.body);
    } catch (error) {
      this.#log.error(`A profile of this daemon could not be taken: ${errorText(error)}`);
      response.writeHead(500).end();
    }
  }
}

/** A web page reaches local addresses through a DNS name of its own; tools need only addresses. */
function refusal({ method = '', headers }: IncomingMessage, ownName: string): Answer | undefined {
  if (method !== 'GET') return { status: 405, body: 'Only GET is served here\n' };
  const host = (headers.host ?? '').replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');
  const isKnown = isIP(host) !== 0 || host === 'localhost' || (ownName !== '' && host === ownName);
  if (!isKnown || headers.origin !== undefined || headers['sec-fetch-site'] === 'cross-site')
    return { status: 403, body: 'Profiles are not for web pages: ask by the address in core.debug_address\n' };
  return undefined;
}

async function profileFor(profiler: Profiler, url: string, signal: AbortSignal): Promise<Answer> {
  const { pathname, searchParams } = new URL(url, 'http://debug');
  switch (pathname) {
    case '/debug/pprof':
    case '/debug/pprof/':
      return { status: 200, body: index };
    case '/debug/pprof/cmdline':
      return { status: 200, body: process.argv.join('\0') };
    case '/debug/pprof/heap':
      return { status: 200, body: await compress(await profiler.heap()) };
    case '/debug/pprof/profile':
      return cpuFor(profiler, searchParams.get('seconds') ?? String(defaultSeconds), signal);
    default:
      return { status: 404, body: `There is no profile at ${pathname}\n\n${index}` };
  }
}

async function cpuFor(profiler: Profiler, text: string, signal: AbortSignal): Promise<Answer> {
  const seconds = /^\d{1,9}$/.test(text) ? Number(text) : 0;
  if (seconds < 1 || seconds > maxSeconds)
    return {
      status: 400,
      body: `seconds must be a whole number from 1 to ${maxSeconds}, is ${JSON.stringify(text)}\n`,
    };
  const profile = await profiler.cpu(seconds, signal);
  if (profile === undefined)
    return { status: 503, body: 'Another profile is being taken: try again when it has ended\n' };
  return { status: 200, body: await compress(profile) };
}

const isLoopback = (address: string): boolean => /^(?:127\.|\[::1\]|\[::ffff:127\.)/.test(address);
