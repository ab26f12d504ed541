// The keys of an OpenID Connect issuer: found by discovery, fetched when a token needs them, cached for a while.
import { createRemoteJWKSet, customFetch, errors as jose, type JWTVerifyGetKey } from 'jose';
import { errors } from '../../api/errors.ts';
import { isWithin } from '../../lib/clock.ts';
import { readWhole } from '../../lib/shared/read-whole.ts';
import { reasonOf } from '../../lib/shared/reason.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

export type Fetch = (url: string, options: { readonly signal: AbortSignal }) => Promise<Response>;

/** The proxy for the address; undefined: none. */
export type ProxyFor = (url: string) => string | undefined;

interface KeySet {
  readonly find: JWTVerifyGetKey;
  readonly atMs: number;
}

/** Real issuers' documents have some KB. */
const maxBytes = 1024 * 1024;
const timeoutMs = 5000;
/** How long the address of the keys is cached. */
const discoveryMs = 60 * 60_000;
/** How long a failed issuer is left alone: requests with tokens must not become requests to it. */
const failureMs = 5000;

export class Issuer {
  readonly #url: string;
  readonly #nowMs: () => number;
  readonly #fetch: Fetch;
  #keys: Promise<KeySet> | undefined;
  #failure: { readonly error: unknown; readonly atMs: number } | undefined;

  constructor(url: string, nowMs: () => number, proxyFor: ProxyFor) {
    this.#url = url;
    this.#nowMs = nowMs;
    this.#fetch = (place, options) => fetchBounded(place, options, proxyFor(place));
  }

  /** The key that signed the token, by its header. Throws AppError unavailable if the issuer does not answer. */
  readonly keyFor: JWTVerifyGetKey = async (header, token) => {
    if (this.#failure !== undefined && isWithin(failureMs, this.#failure.atMs, this.#nowMs()))
      throw this.#unavailable(this.#failure.error);
    try {
      return await (await this.#keySet()).find(header, token);
    } catch (error) {
      // The issuer has answered, and has no such key: the token is at fault.
      if (isFaultOfToken(error)) throw error;
      this.#keys = undefined;
      this.#failure = { error, atMs: this.#nowMs() };
      throw this.#unavailable(error);
    }
  };

  async #keySet(): Promise<KeySet> {
    const known = await this.#keys;
    if (known !== undefined && isWithin(discoveryMs, known.atMs, this.#nowMs())) return known;
    const looked = this.#discover();
    this.#keys = looked;
    looked.catch(() => (this.#keys = undefined));
    return looked;
  }

  async #discover(): Promise<KeySet> {
    const place = `${this.#url.replace(/\/$/, '')}/.well-known/openid-configuration`;
    const answer = await this.#fetch(place, { signal: AbortSignal.timeout(timeoutMs) });
    const found: unknown = await answer.json();
    const { issuer, jwks_uri: keys } = (typeof found === 'object' && found !== null ? found : {}) as Record<
      string,
      unknown
    >;
    if (issuer !== this.#url) throw new Error(`${place} is of the issuer ${JSON.stringify(issuer)}`);
    if (typeof keys !== 'string' || !isSafe(keys)) throw new Error(`${place} names no https address of its keys`);
    const options = { timeoutDuration: timeoutMs, [customFetch]: this.#fetch };
    return { find: createRemoteJWKSet(new URL(keys), options), atMs: this.#nowMs() };
  }

  #unavailable(error: unknown): Error {
    const why = error instanceof Error && error.cause !== undefined ? reasonOf(error.cause) : reasonOf(error);
    return errors.unavailable(`The token cannot be checked: the issuer ${this.#url} does not give its keys (${why})`);
  }
}

const isFaultOfToken = (error: unknown): boolean =>
  error instanceof jose.JWKSNoMatchingKey ||
  error instanceof jose.JWKSMultipleMatchingKeys ||
  error instanceof jose.JOSENotSupported;

/** Without https anyone on the path could forge keys; on this host there is no path. */
export const isSafe = (url: string): boolean =>
  URL.canParse(url) &&
  (new URL(url).protocol === 'https:' ||
    (new URL(url).protocol === 'http:' && ['127.0.0.1', '[::1]', 'localhost'].includes(new URL(url).hostname)));

/** Follows no redirects, and reads at most the size of a real document. */
async function fetchBounded(
  url: string,
  { signal }: Parameters<Fetch>[1],
  proxy: string | undefined,
): Promise<Response> {
  // The bundle has only the default export.
  const { fetch, ProxyAgent } = (await import('undici')).default;
  const agent = proxy === undefined ? undefined : new ProxyAgent(proxy);
  try {
    const answer = await fetch(url, {
      signal,
      redirect: 'manual',
      headers: { accept: 'application/json' },
      ...withoutUndefined({ dispatcher: agent }),
    });
    if (answer.status !== 200) throw new Error(`${url} answered ${answer.status}`);
    const tooLong = (): Error => new Error(`${url} answered with more than ${maxBytes} bytes`);
    const bytes = await readWhole((answer.body ?? []) as AsyncIterable<Uint8Array>, maxBytes, tooLong);
    return new Response(new Uint8Array(bytes), { status: 200, headers: { 'content-type': 'application/json' } });
  } finally {
    // Its connections are not reused.
    await agent?.destroy();
  }
}
