// One keep-alive client for every server of the bench: the same requests by the same code over the same kind of socket. Reads both wire
// dialects; knows nothing about the measurements.
import { readFile } from 'node:fs/promises';
import { Pool } from 'undici';

/** Parallel clients, one connection each. */
export const clients = 16;

export interface Answer {
  readonly status: number;
  readonly text: string;
}

interface Envelope {
  readonly operation?: string;
  readonly error?: string;
  readonly metadata?: unknown;
}

interface EndedOperation {
  readonly status: string;
  readonly err: string;
  readonly metadata: Record<string, unknown> | null;
}

/** Something is not there or under way: the same request may succeed a moment later. */
export class NotNow extends Error {}

/** What an operation says that ended so: operations have no codes. */
const notNowText = /cannot be reached|did not answer|not available|does not answer|leader changed|try again/i;

export class Wire {
  readonly #pool: Pool;

  /** By the path of a local socket, or by a URL with a client certificate. */
  constructor(to: string | { readonly url: string; readonly certPem: string; readonly keyPem: string }) {
    const [url, how] =
      typeof to === 'string'
        ? ['http://localhost', { socketPath: to }]
        : [to.url, { connect: { cert: to.certPem, key: to.keyPem, rejectUnauthorized: false } }];
    this.#pool = new Pool(url, { ...how, connections: clients, bodyTimeout: 0, headersTimeout: 0 });
  }

  async send(method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE', path: string, body?: object): Promise<Answer> {
    const headers = body === undefined ? {} : { 'content-type': 'application/json' };
    const answer = await this.#pool.request({
      method,
      path,
      headers,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: answer.statusCode, text: await answer.body.text() };
  }

  async get(path: string): Promise<unknown> {
    const answer = await this.send('GET', path);
    if (answer.status !== 200) throw failure(`GET ${path}`, answer);
    return (JSON.parse(answer.text) as Envelope).metadata;
  }

  /** Sends a change and waits until it is made, in the background or not. */
  async change(
    method: 'POST' | 'PUT' | 'PATCH' | 'DELETE',
    path: string,
    body?: object,
  ): Promise<EndedOperation | undefined> {
    const answer = await this.send(method, path, body);
    return this.#ended(`${method} ${path}`, answer);
  }

  /** Uploads a unified image file; the header names differ by dialect. Returns its fingerprint. */
  async uploadImage(file: string, headerPrefix: string, filename: string): Promise<string> {
    const answer = await this.#pool.request({
      method: 'POST',
      path: '/1.0/images',
      headers: { 'content-type': 'application/octet-stream', [`${headerPrefix}filename`]: filename },
      body: await readFile(file),
    });
    const ended = await this.#ended('POST /1.0/images', { status: answer.statusCode, text: await answer.body.text() });
    const fingerprint = ended?.metadata?.['fingerprint'];
    if (typeof fingerprint !== 'string') throw new Error(`POST /1.0/images told no fingerprint of ${filename}`);
    return fingerprint;
  }

  /** Sends the bytes unchanged. */
  async push(path: string, body: Buffer, headers: Readonly<Record<string, string>>): Promise<void> {
    const answer = await this.#pool.request({
      method: 'POST',
      path,
      headers: { 'content-type': 'application/octet-stream', ...headers },
      body,
    });
    const text = await answer.body.text();
    if (answer.statusCode >= 300) throw failure(`POST ${path}`, { status: answer.statusCode, text });
  }

  /** Reads all bytes of an answer and returns their number. */
  async pull(path: string): Promise<number> {
    const answer = await this.#pool.request({ method: 'GET', path });
    if (answer.statusCode !== 200) throw failure(`GET ${path}`, { status: answer.statusCode, text: '' });
    let size = 0;
    for await (const chunk of answer.body as AsyncIterable<Buffer>) size += chunk.length;
    return size;
  }

  close(): Promise<void> {
    return this.#pool.close();
  }

  async #ended(what: string, answer: Answer): Promise<EndedOperation | undefined> {
    if (answer.status >= 300) throw failure(what, answer);
    const { operation } = answer.text === '' ? ({} as Envelope) : (JSON.parse(answer.text) as Envelope);
    if (operation === undefined || operation === '') return undefined;
    // Members of LXD clusters add `?project=default`.
    const path = operation.replace(/(\?|$)/, '/wait$1');
    const last = await this.send('GET', path);
    // LXD forgets an operation 5 s after its end; a member of a busy cluster may ask later than that. Whoever counts looks at the objects.
    if (last.status === 404) return undefined;
    if (last.status !== 200) throw failure(`GET ${path}`, last);
    const ended = (JSON.parse(last.text) as Envelope).metadata as EndedOperation;
    if (ended.status === 'Success') return ended;
    const text = `${what} ended as ${ended.status}: ${ended.err}`;
    throw notNowText.test(ended.err) ? new NotNow(text) : new Error(text);
  }
}

function isNotNow(status: number, text: string): boolean {
  if (status === 503 || status === 409) return true;
  // Towards clients of LXD it is a 500; the code says more.
  try {
    return (JSON.parse(text) as { metadata?: { code?: string } | null }).metadata?.code === 'unavailable';
  } catch {
    return false;
  }
}

function failure(what: string, { status, text }: Answer): Error {
  const told = `${what} answered ${status}: ${text}`;
  return isNotNow(status, text) ? new NotNow(told) : new Error(told);
}

/** Processes the items with as many parallel clients as the wire has connections. */
export async function inParallel<T>(
  items: readonly T[],
  work: (item: T) => Promise<unknown>,
  signal: AbortSignal,
): Promise<void> {
  const queue = items.values();
  await Promise.all(
    Array.from({ length: clients }, async () => {
      for (const item of queue) {
        signal.throwIfAborted();
        await work(item);
      }
    }),
  );
}
