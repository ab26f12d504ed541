// One request to a MAAS server: OAuth 1 with PLAINTEXT, limited in time and size. Its refusals become driver errors.
import { randomUUID } from 'node:crypto';
import { readWhole } from '../../lib/shared/read-whole.ts';
import { DriverError, driverErrors } from '../driver-error.ts';

export interface MaasAccess {
  /** http://HOST:5240/MAAS */
  readonly url: string;
  /** CONSUMER:TOKEN:SECRET, as MAAS shows it. */
  readonly key: string;
}

export type Form = Readonly<Record<string, string | readonly string[]>>;

const timeoutMs = 15_000;
const maxBytes = 64 * 1024 * 1024;

/** Pure. */
export function authorization(key: string, nonce: string, seconds: number): string {
  const [consumer = '', token = '', secret = ''] = key.split(':');
  const parts = {
    oauth_version: '1.0',
    oauth_signature_method: 'PLAINTEXT',
    oauth_consumer_key: consumer,
    oauth_token: token,
    // There is no consumer secret.
    oauth_signature: `&${secret}`,
    oauth_nonce: nonce,
    oauth_timestamp: String(seconds),
  };
  return `OAuth ${Object.entries(parts)
    .map(([name, value]) => `${name}="${encodeURIComponent(value)}"`)
    .join(', ')}`;
}

export class MaasConnection {
  readonly #access: MaasAccess;

  constructor(access: MaasAccess) {
    this.#access = access;
  }

  get(path: string, query: Form = {}): Promise<unknown> {
    return this.#ask('GET', `${path}?${encoded(query)}`);
  }

  /** `path` may have a query: it names MAAS operations. */
  send(method: 'POST' | 'PUT' | 'DELETE', path: string, form: Form = {}): Promise<unknown> {
    return this.#ask(method, path, encoded(form));
  }

  async #ask(method: string, path: string, body = ''): Promise<unknown> {
    const { url, key } = this.#access;
    const base = url.replace(/\/+$/, '');
    const headers = {
      accept: 'application/json',
      authorization: authorization(key, randomUUID(), Math.floor(Date.now() / 1000)),
    };
    const sent = method === 'GET' || method === 'DELETE' ? {} : { body, type: 'application/x-www-form-urlencoded' };
    let status = 0;
    let text = '';
    try {
      const answer = await fetch(`${base}/api/2.0/${path}`, {
        method,
        redirect: 'manual',
        signal: AbortSignal.timeout(timeoutMs),
        ...(sent.body === undefined
          ? { headers }
          : { body: sent.body, headers: { ...headers, 'content-type': sent.type } }),
      });
      status = answer.status;
      text = await boundedText(answer);
    } catch (error) {
      throw driverErrors.failed(`MAAS at ${base} does not answer`, error);
    }
    if (status >= 200 && status < 300) return parsed(text, base);
    throw refusal(method, status, `MAAS at ${base} answered ${status}`, reasonIn(text));
  }
}

function encoded(form: Form): string {
  const pairs = Object.entries(form).flatMap(([name, value]) =>
    [value].flat().map((each) => [name, each] as [string, string]),
  );
  return new URLSearchParams(pairs).toString();
}

async function boundedText({ body }: Response): Promise<string> {
  const tooLong = (): Error => new Error(`the answer has more than ${maxBytes} bytes`);
  return (await readWhole((body ?? []) as AsyncIterable<Uint8Array>, maxBytes, tooLong)).toString('utf8');
}

function parsed(text: string, base: string): unknown {
  if (text.trim() === '') return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    throw driverErrors.failed(`MAAS at ${base} answered with something else than JSON: is maas.api.url right?`, error);
  }
}

function refusal(method: string, status: number, what: string, why: string): DriverError {
  if (status === 401 || status === 403)
    return driverErrors.failed(`${what}: the key in maas.api.key is not accepted (${why})`);
  // MAAS also answers 404 for a taken address.
  if (status === 404 && (method === 'GET' || method === 'DELETE')) return driverErrors.notFound(`${what}: ${why}`);
  // MAAS also answers 503 if a subnet has no address left.
  if (status < 500 || status === 503) return driverErrors.invalid(`${what}: ${why}`);
  return driverErrors.failed(`${what}: ${why}`);
}

/** An intermediate server's HTML page is no reason. */
function reasonIn(text: string): string {
  const reason = text.trim().replaceAll(/\s+/g, ' ');
  return reason === '' || reason.startsWith('<') ? 'without a reason' : reason.slice(0, 300);
}

export const isMissing = (error: unknown): boolean => error instanceof DriverError && error.code === 'NotFound';
