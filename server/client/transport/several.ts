// One transport over several addresses of a cluster: stays with a member while that answers, and otherwise continues with the next one.
import type { WebSocket } from 'ws';
import { neverSent } from '../client-error.ts';
import { DeadlineError } from '../../lib/shared/deadline.ts';
import type { ExchangeLimits, WholeReply } from './exchange.ts';
import type { Endpoint } from './host-endpoint.ts';
import type { BearerSource, RawCall, RawReply, Transport } from './transport.ts';

export type Link = Pick<Transport, 'endpoint' | 'bearer' | 'request' | 'exchange' | 'openSocket' | 'close'>;

const failures = new WeakMap<object, Endpoint>();
/** The address that an error came from; undefined for errors of a client with a single one. */
export const endpointOfFailure = (error: unknown): Endpoint | undefined =>
  typeof error === 'object' && error !== null ? failures.get(error) : undefined;

/** A call that was never sent goes to the next member at once, whatever it requests. After any other broken connection the next call goes
 *  to the next member; only callers that know it to be safe repeat this one. */
export class Several implements Link {
  readonly #links: readonly Link[];
  #current = 0;

  constructor(links: readonly [Link, ...Link[]]) {
    this.#links = links;
  }

  get endpoint(): Endpoint {
    return this.#link.endpoint;
  }

  get members(): number {
    return this.#links.length;
  }

  get bearer(): BearerSource | undefined {
    return this.#link.bearer;
  }

  request(call: RawCall, signal: AbortSignal): Promise<RawReply> {
    return this.#answered(call, signal, (link) => link.request(call, signal));
  }

  exchange(call: RawCall, limits: ExchangeLimits, signal: AbortSignal | undefined): Promise<WholeReply> {
    return this.#answered(call, signal, (link) => link.exchange(call, limits, signal));
  }

  openSocket(path: string): WebSocket {
    const link = this.#link;
    const socket = link.openSocket(path);
    // Its owner opens another one.
    socket.once('error', () => this.#leave(link));
    return socket;
  }

  async close(): Promise<void> {
    await Promise.all(this.#links.map((link) => link.close()));
  }

  get #link(): Link {
    return this.#links[this.#current] as Link;
  }

  async #answered<T extends { readonly statusCode: number }>(
    call: RawCall,
    signal: AbortSignal | undefined,
    send: (link: Link) => Promise<T>,
  ): Promise<T> {
    for (let tried = 1; ; tried += 1) {
      const link = this.#link;
      try {
        const reply = await send(link);
        // It starts, stops or has lost the others: another member may serve.
        if (reply.statusCode === 503) this.#leave(link);
        return reply;
      } catch (error) {
        if (signal?.aborted === true || !isOfConnection(error)) throw error;
        failures.set(error, link.endpoint);
        this.#leave(link);
        const isLast = tried >= this.#links.length;
        // The body of a stream may have been read.
        if (isLast || !neverSent(error) || (call.body !== undefined && typeof call.body !== 'string')) throw error;
      }
    }
  }

  /** Calls that fail together continue with the same member. */
  #leave(link: Link): void {
    if (link === this.#link) this.#current = (this.#current + 1) % this.#links.length;
  }
}

/** A certificate other than the cluster's is a reason to stop: another member would hide it. */
function isOfConnection(error: unknown): error is Error {
  if (error instanceof DeadlineError) return true;
  const code: unknown = error instanceof Error && 'code' in error ? error.code : undefined;
  return (
    typeof code === 'string' &&
    !/^(ERR_GANTRY_PIN|ERR_TLS_|ERR_SSL_|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO_)/.test(code)
  );
}
