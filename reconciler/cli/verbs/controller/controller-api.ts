// Calls the HTTP API of a controller.
import { readFile } from 'node:fs/promises';
import { Agent, ProxyAgent, request } from 'undici';
import { proxyOf } from '../../../../server/client/transport/proxy-tunnel.ts';
import { bareHost } from '../../../../server/lib/shared/net/host-port.ts';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import type { ControllerEvent, Failure, Overview, SetStatus } from '../../../controller/contract/index.ts';
import type { Env } from '../../session/config-file.ts';
import type { Context } from '../../session/context.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { CliError, usageError, commandError } from '../../errors/usage-error.ts';
import type { ApiOptions } from './controller-verbs.ts';

export interface ControllerApi {
  get<T>(path: string): Promise<T>;
  post<T>(path: string, body: object): Promise<T>;
  /** Ends when `signal` fires or the connection is lost. */
  events(signal: AbortSignal): AsyncGenerator<ControllerEvent, void, void>;
  close(): Promise<void>;
}

export async function openApi({ options, io, stop }: Context<ApiOptions>): Promise<ControllerApi> {
  const base = baseOf(options.url ?? io.env['GANTRY_CONTROLLER'] ?? 'http://127.0.0.1:8440');
  const token =
    options.tokenFile === undefined ? undefined : (await readOption('--token-file', options.tokenFile)).trim();
  const ca = options.ca === undefined ? undefined : await readOption('--ca', options.ca);
  const proxy = proxyTo(base, io.env);
  const limits = { headersTimeout: 30_000, bodyTimeout: 0 };
  const trust = ca === undefined ? {} : { ca };
  const dispatcher =
    proxy === undefined
      ? new Agent({ ...limits, connect: trust })
      : new ProxyAgent({ ...limits, uri: proxy.href, requestTls: trust });
  const headers = {
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    'content-type': 'application/json',
  };
  const send = async (method: 'GET' | 'POST', path: string, body: object | undefined, signal: AbortSignal) => {
    try {
      return await request(`${base}${path}`, {
        method,
        dispatcher,
        headers,
        signal,
        // The plan of many hosts takes its time.
        ...(body === undefined ? {} : { body: JSON.stringify(body), headersTimeout: 600_000 }),
      });
    } catch (error) {
      signal.throwIfAborted();
      const through = proxy === undefined ? '' : ` through the proxy ${proxy.origin}`;
      throw new CliError(
        `The controller at ${base} cannot be reached${through}: ${reasonOf(error)} (--url)`,
        exitCodes.unreachable,
        error,
      );
    }
  };
  const call = async <T>(method: 'GET' | 'POST', path: string, body?: object): Promise<T> => {
    const { statusCode, body: answer } = await send(method, path, body, stop);
    const value: unknown = await answer.json().catch(() => undefined);
    if (statusCode < 300) return value as T;
    const message = (value as Failure | undefined)?.error?.message ?? `it answered ${statusCode}`;
    const hint = statusCode === 401 || statusCode === 403 ? ' (--token-file)' : '';
    throw commandError(`The controller at ${base} refuses: ${message}${hint}`);
  };
  return {
    get: (path) => call('GET', path),
    post: (path, body) => call('POST', path, body),
    async *events(signal) {
      const { body } = await send('GET', '/api/v1/events', undefined, signal);
      yield* eventsOf(body);
    },
    close: () => dispatcher.close(),
  };
}

/** The `data` of server-sent events. */
async function* eventsOf(body: AsyncIterable<Uint8Array>): AsyncGenerator<ControllerEvent, void, void> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of body) {
    text += decoder.decode(chunk, { stream: true });
    const lines = text.split('\n');
    text = lines.pop() ?? '';
    for (const line of lines) if (line.startsWith('data:')) yield JSON.parse(line.slice(5)) as ControllerEvent;
  }
}

export async function withApi<T>(context: Context<ApiOptions>, work: (api: ControllerApi) => Promise<T>): Promise<T> {
  const api = await openApi(context);
  try {
    return await work(api);
  } finally {
    await api.close();
  }
}

export const inSet = (set: string, what: string): string => `/api/v1/sets/${encodeURIComponent(set)}/${what}`;

export function withQuery(path: string, values: Readonly<Record<string, string | number | undefined>>): string {
  const pairs = Object.entries(values).flatMap(([key, value]) =>
    value === undefined ? [] : [[key, `${value}`] as [string, string]],
  );
  return pairs.length === 0 ? path : `${path}?${new URLSearchParams(pairs).toString()}`;
}

/** `set`: limits `sets` to this one; an unknown name is refused with the known ones. */
export async function readOverview(api: ControllerApi, set?: string): Promise<Overview> {
  const overview = await api.get<Overview>('/api/v1/overview');
  return set === undefined ? overview : { ...overview, sets: [setIn(overview, set)] };
}

export function setIn({ sets }: Overview, set: string): SetStatus {
  const found = sets.find(({ name }) => name === set);
  if (found !== undefined) return found;
  const known = sets.map(({ name }) => name).join(', ');
  throw commandError(`The controller has no set ${set}: it has ${known}`);
}

function baseOf(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
    throw usageError(`--url ${JSON.stringify(text)} is not a URL such as https://gantry.example.org:8440`);
  return text.replace(/\/+$/, '');
}

function proxyTo(base: string, env: Env): URL | undefined {
  const { protocol, hostname, port } = new URL(base);
  if (protocol !== 'https:') return undefined;
  try {
    return proxyOf({ host: bareHost(hostname), port: Number(port) || 443 }, env);
  } catch (error) {
    throw usageError(reasonOf(error));
  }
}

const readOption = (flag: string, path: string): Promise<string> =>
  readFile(path, 'utf8').catch((error: unknown) => {
    throw usageError(`Cannot read ${flag}: ${reasonOf(error)}`);
  });
