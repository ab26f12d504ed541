// Calls over HTTP for sources: redirects are followed without credentials, certificates are checked, answers are bounded.
import { readFile } from 'node:fs/promises';
import { Agent, EnvHttpProxyAgent, fetch, type Dispatcher, type Response } from 'undici';
import { readWhole } from '../../../../server/lib/shared/read-whole.ts';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import { SourceError, sourceErrors } from '../source.ts';
import type { Credentials } from '../source-schema.ts';
import { readSecret } from '../files/secret.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

export interface Download {
  /** Names the download in messages. */
  readonly what: string;
  /** Authorization; sent to the origin of the URL only. */
  readonly authorization?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly dispatcher: Dispatcher;
  /** Statuses that are not failures, besides 2xx. */
  readonly okStatuses?: readonly number[];
  /** A better reason for a failure than its status, if the answer has one. */
  readonly explain?: (response: Response, at: URL) => Promise<SourceError | undefined>;
}

const maxRedirects = 5;

export async function get(url: URL, download: Download, signal?: AbortSignal): Promise<Response> {
  const { what, authorization, dispatcher } = download;
  let at = url;
  for (let hops = 0; ; hops += 1) {
    const isHome = at.origin === url.origin;
    const headers = { ...download.headers, ...(authorization !== undefined && isHome ? { authorization } : {}) };
    const init = { headers, redirect: 'manual' as const, dispatcher, ...withoutUndefined({ signal }) };
    const response = await fetch(at.href, init).catch((error: unknown) => {
      signal?.throwIfAborted();
      throw sourceErrors.unreachable(`${what}: ${at.host} cannot be reached: ${causeOf(error)}`, {
        cause: error,
      });
    });
    const location = [301, 302, 303, 307, 308].includes(response.status) ? response.headers.get('location') : null;
    if (location === null) return checked(response, download, at);
    await response.body?.cancel();
    const next = URL.canParse(location, at.href) ? new URL(location, at) : undefined;
    const isAllowed =
      next !== undefined && (next.protocol === 'https:' || (next.protocol === 'http:' && at.protocol === 'http:'));
    if (!isAllowed) throw sourceErrors.refused(`${what}: ${at.host} redirects to an address that is not https`);
    if (hops === maxRedirects) throw sourceErrors.refused(`${what}: more than ${maxRedirects} redirects`);
    at = next;
  }
}

async function checked(response: Response, { what, okStatuses, explain }: Download, at: URL): Promise<Response> {
  const { status } = response;
  if (response.ok || (okStatuses?.includes(status) ?? false)) return response;
  const reason = await explain?.(response, at);
  if (reason !== undefined) throw reason;
  await response.body?.cancel();
  if (status === 401 || status === 403)
    throw sourceErrors.denied(`${what}: ${at.host} refuses the credentials (${status}); check credentials`);
  if (status === 404 || status === 410) throw sourceErrors.notFound(`${what}: ${at.host} does not have it (${status})`);
  throw sourceErrors.unreachable(`${what}: ${at.host} answered ${status}`);
}

const causeOf = (error: unknown): string =>
  error instanceof Error && error.cause !== undefined ? reasonOf(error.cause) : reasonOf(error);

/** The whole body; a longer one is a `limit` problem. */
export const bodyText = (response: Response, maxBytes: number, what: string): Promise<Buffer> =>
  bounded((response.body ?? []) as AsyncIterable<Uint8Array>, maxBytes, what).catch((error: unknown) => {
    if (error instanceof SourceError) throw error;
    throw sourceErrors.unreachable(`${what}: the answer broke off: ${causeOf(error)}`, { cause: error });
  });

/** All chunks as one; more bytes are a `limit` problem. */
export const bounded = (
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  maxBytes: number,
  what: string,
): Promise<Buffer> => readWhole(chunks, maxBytes, () => sourceErrors.limit(`${what} is longer than ${maxBytes} bytes`));

/** Connections of one action; close it at the end. */
export async function dispatcherFor(
  credentials: Credentials | undefined,
  absolute: (path: string) => string,
): Promise<Dispatcher> {
  const isProxied = ['https_proxy', 'HTTPS_PROXY', 'http_proxy'].some((name) => process.env[name] !== undefined);
  if (credentials?.caFile === undefined) return isProxied ? new EnvHttpProxyAgent() : new Agent();
  const ca = await readFile(absolute(credentials.caFile), 'utf8').catch((error: unknown) => {
    throw sourceErrors.unavailable(`cannot read credentials.caFile: ${reasonOf(error)}`, { cause: error });
  });
  return isProxied ? new EnvHttpProxyAgent({ requestTls: { ca } }) : new Agent({ connect: { ca } });
}

/** Undefined without a password file. A password without a user name is sent as a bearer token unless `user` is given. */
export async function authorizationOf(
  credentials: Credentials | undefined,
  absolute: (path: string) => string,
): Promise<string | undefined> {
  if (credentials?.passwordFile === undefined) return undefined;
  const password = await readSecret('credentials.passwordFile', absolute(credentials.passwordFile));
  if (credentials.username === undefined) return `Bearer ${password}`;
  return `Basic ${Buffer.from(`${credentials.username}:${password}`).toString('base64')}`;
}
