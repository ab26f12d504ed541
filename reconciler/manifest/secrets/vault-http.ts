// Calls a server that speaks the HTTP API of Vault (Vault, OpenBao): over TLS, with retries after errors that may pass, and without a secret in any message.
import { readFile } from 'node:fs/promises';
import { proxiedConnections, type Connections } from '../../../server/client/transport/proxied-connections.ts';
import { pause, within } from '../../../server/lib/shared/deadline.ts';
import { errorText, reasonOf } from '../../../server/lib/shared/reason.ts';
import type { Json, JsonObject } from '../../core/documents/document.ts';
import { isMap, textOf } from '../../core/documents/json-values.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface VaultPlace {
  readonly address: string;
  readonly namespace?: string | undefined;
  /** PEM, for https. */
  readonly caFile?: string | undefined;
}

/** unreachable: it may answer later. denied: the token or the login. missing: no such path, version or field. refused: it is not a KV secret. */
export type VaultProblem = 'unreachable' | 'denied' | 'missing' | 'refused';

export class VaultError extends Error {
  override readonly name = 'VaultError';
  readonly problem: VaultProblem;

  constructor(problem: VaultProblem, message: string, options?: ErrorOptions) {
    super(message, options);
    this.problem = problem;
  }
}

export interface VaultAnswer {
  readonly status: number;
  readonly body: JsonObject;
}

export interface VaultCall {
  readonly method: 'GET' | 'POST';
  /** Below /v1/, escaped. */
  readonly path: string;
  readonly token?: string;
  readonly body?: JsonObject;
}

const callMs = 15_000;
const maxBytes = 1024 * 1024;
const tries = 4;
const firstPauseMs = 250;
/** Sealed, starting, without a leader, not yet consistent, too many requests. */
const passing = new Set([412, 429, 472, 473, 500, 502, 503, 504]);

export class VaultHttp {
  readonly #place: VaultPlace;
  #connections: Promise<Connections> | undefined;

  constructor(place: VaultPlace) {
    this.#place = place;
    const why = addressProblem(place.address);
    if (why !== undefined) throw new VaultError('refused', `the address of Vault ${why}`);
  }

  get host(): string {
    return new URL(this.#place.address).host;
  }

  /** Returns any answer with a status below 500, but retries after a status that may pass and throws when it does not. */
  async call(call: VaultCall, signal: AbortSignal | undefined): Promise<VaultAnswer> {
    for (let tried = 1; ; tried += 1) {
      const answer = await this.#once(call, signal).catch((error: unknown) => {
        signal?.throwIfAborted();
        return error instanceof VaultError ? error : this.#unreachable(error);
      });
      const isPassing = answer instanceof VaultError ? answer.problem === 'unreachable' : passing.has(answer.status);
      if (!isPassing && answer instanceof VaultError) throw answer;
      if (!isPassing && !(answer instanceof VaultError)) return answer;
      if (tried === tries) throw answer instanceof VaultError ? answer : this.#busy(answer);
      await pause(firstPauseMs * 2 ** (tried - 1), signal);
    }
  }

  async close(): Promise<void> {
    await (await this.#connections?.catch(() => undefined))?.destroy();
  }

  async #once(call: VaultCall, signal: AbortSignal | undefined): Promise<VaultAnswer> {
    const first = new URL(`/v1/${call.path}`, this.#place.address);
    const answer = await this.#send(first, call, signal);
    if (answer.status !== 307 && answer.status !== 308) return answer;
    // A standby node names the active one.
    const next = URL.canParse(answer.location ?? '', first.href) ? new URL(answer.location ?? '', first) : undefined;
    if (next?.protocol !== first.protocol || addressProblem(next.href) !== undefined)
      throw new VaultError(
        'unreachable',
        `${this.host} redirects to an address that cannot be used: ${next?.origin ?? 'none'}`,
      );
    return this.#send(next, call, signal);
  }

  async #send(
    url: URL,
    { method, token, body }: VaultCall,
    signal: AbortSignal | undefined,
  ): Promise<VaultAnswer & { readonly location?: string }> {
    // The bundle has only the default export.
    const { request } = (await import('undici')).default;
    this.#connections ??= this.#connect();
    const dispatcher = await (await this.#connections).to(url);
    const { namespace } = this.#place;
    const headers = {
      'x-vault-request': 'true',
      ...withoutUndefined({ 'x-vault-token': token, 'x-vault-namespace': namespace }),
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
    };
    return within(
      callMs,
      async (limited) => {
        const options = { method, headers, dispatcher, signal: limited };
        const answer = await request(
          url.href,
          body === undefined ? options : { ...options, body: JSON.stringify(body) },
        );
        const { location } = answer.headers;
        return {
          status: answer.statusCode,
          body: parsed(await answer.body.text()),
          ...(typeof location === 'string' ? { location } : {}),
        };
      },
      signal,
    );
  }

  async #connect(): Promise<Connections> {
    const { caFile } = this.#place;
    const read = async (path: string): Promise<string> =>
      readFile(path, 'utf8').catch((error: unknown) => {
        this.#connections = undefined;
        throw new VaultError('unreachable', `the authorities of ${this.host} cannot be read: ${reasonOf(error)}`, {
          cause: error,
        });
      });
    const ca = caFile === undefined ? undefined : await read(caFile);
    return proxiedConnections({ ca, maxResponseSize: maxBytes }, process.env);
  }

  #unreachable = (error: unknown): VaultError =>
    new VaultError('unreachable', `${this.host} cannot be reached: ${errorText(error)}`, { cause: error });

  #busy({ status, body }: VaultAnswer): VaultError {
    const why = errorsIn(body);
    return new VaultError('unreachable', `${this.host} answers ${status}${why === '' ? '' : `: ${why}`}`);
  }
}

/** Why this is not a valid address of a server. */
export function addressProblem(address: string): string | undefined {
  const url = URL.canParse(address) ? new URL(address) : undefined;
  if (url === undefined || !['http:', 'https:'].includes(url.protocol) || url.username !== '' || url.password !== '')
    return 'must be a URL such as https://vault.example.org:8200';
  const isHere = ['127.0.0.1', '[::1]', 'localhost'].includes(url.hostname);
  return url.protocol === 'http:' && !isHere
    ? `must begin with https://: ${url.host} is another machine, and tokens are sent to it`
    : undefined;
}

/** The errors in an answer of Vault, which never contain secrets. */
export const errorsIn = ({ errors }: JsonObject): string =>
  (Array.isArray(errors) ? (errors as readonly Json[]) : [])
    .map((one) => textOf(one) ?? '')
    .join('; ')
    .replaceAll(/\s+/g, ' ')
    .trim()
    .slice(0, 300);

function parsed(text: string): JsonObject {
  try {
    const value = JSON.parse(text) as Json;
    return isMap(value) ? value : {};
  } catch {
    return {};
  }
}
