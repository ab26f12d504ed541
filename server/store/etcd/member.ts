// One member of an etcd: its channel, unary calls with a deadline, streams.
import { isIP } from 'node:net';
import { checkServerIdentity } from 'node:tls';
import {
  Client,
  credentials,
  Metadata,
  type ClientDuplexStream,
  type ClientOptions,
  type ServiceError,
  type VerifyOptions,
} from '@grpc/grpc-js';
import { fromJSON, type PackageDefinition } from '@grpc/proto-loader';
import { etcdDescriptor } from './descriptor.ts';
import { type EtcdFailure, failureOf } from './failure.ts';
import type { Calls, Streams } from './messages.ts';

export interface MemberOptions {
  /** TLS, in PEM; without it the connection is not encrypted. */
  readonly tls?: { readonly ca?: Buffer; readonly cert?: Buffer; readonly key?: Buffer };
}

export type Stream<S extends keyof Streams> = ClientDuplexStream<Streams[S][0], Streams[S][1]>;

export const etcdDefinitions: PackageDefinition = fromJSON(etcdDescriptor as Parameters<typeof fromJSON>[0], {
  longs: String,
  enums: String,
  bytes: Buffer,
  defaults: true,
  arrays: true,
});

const channelOptions: ClientOptions = {
  // Pages of a range may be large: values have up to 1 MiB.
  'grpc.max_receive_message_length': -1,
  'grpc.max_send_message_length': -1,
  // etcd ends connections that ping more often than every 5 s.
  'grpc.keepalive_time_ms': 10_000,
  'grpc.keepalive_timeout_ms': 3_000,
  'grpc.initial_reconnect_backoff_ms': 100,
  'grpc.min_reconnect_backoff_ms': 100,
  'grpc.max_reconnect_backoff_ms': 1_000,
  // Only the store decides to repeat a write.
  'grpc.enable_retries': 0,
  'grpc.service_config_disable_resolution': 1,
  'grpc.use_local_subchannel_pool': 1,
  'grpc.enable_http_proxy': 0,
};

const nameOfAddress = 'etcd.gantry.internal';

export class Member {
  readonly endpoint: string;
  readonly #client: Client;
  readonly #streams = new Set<{ cancel(): void }>();

  constructor(endpoint: string, { tls }: MemberOptions) {
    this.endpoint = endpoint;
    if (tls === undefined) this.#client = new Client(endpoint, credentials.createInsecure(), channelOptions);
    else {
      const { check, options } = namesOf(endpoint);
      const trust = credentials.createSsl(tls.ca ?? null, tls.key ?? null, tls.cert ?? null, check);
      this.#client = new Client(endpoint, trust, { ...channelOptions, ...options });
    }
  }

  /** A member without a leader answers so at once, instead of at the deadline. */
  metadata(): Metadata {
    const metadata = new Metadata();
    metadata.set('hasleader', 'true');
    return metadata;
  }

  /** Throws EtcdFailure, or the reason of `over` if that aborts before the answer. */
  call<C extends keyof Calls>(
    name: C,
    request: Calls[C][0],
    metadata: Metadata,
    deadlineMs: number,
    over?: AbortSignal,
  ): Promise<Calls[C][1]> {
    const { path, requestSerialize, responseDeserialize } = methodOf(name);
    return new Promise((resolve, reject) => {
      const giveUp = (): void => void setImmediate(() => sent.cancel());
      const sent = this.#client.makeUnaryRequest<Calls[C][0], Calls[C][1]>(
        path,
        requestSerialize,
        responseDeserialize as (bytes: Buffer) => Calls[C][1],
        request,
        metadata,
        { deadline: Date.now() + deadlineMs },
        (error: ServiceError | null, answer) => {
          over?.removeEventListener('abort', giveUp);
          if (error === null && answer !== undefined) resolve(answer);
          else reject(over?.aborted === true ? (over.reason as EtcdFailure) : failureOf(error, this.endpoint));
        },
      );
      over?.addEventListener('abort', giveUp, { once: true });
    });
  }

  open<S extends keyof Streams>(name: S, metadata: Metadata): Stream<S> {
    const { path, requestSerialize, responseDeserialize } = methodOf(name);
    const stream = this.#client.makeBidiStreamRequest<Streams[S][0], Streams[S][1]>(
      path,
      requestSerialize,
      responseDeserialize as (bytes: Buffer) => Streams[S][1],
      metadata,
    );
    cancelLater(stream);
    // The stream's reader gets the error; a later one must not end the process.
    stream.on('error', () => {});
    this.#streams.add(stream);
    stream.on('close', () => this.#streams.delete(stream));
    return stream;
  }

  endStreams(): void {
    for (const stream of this.#streams) stream.cancel();
  }

  close(): void {
    this.endStreams();
    this.#client.close();
  }
}

/** Replaces `cancel` by one that takes effect in the next turn of the event loop. A reset of a stream by code that runs while Node.js still reads
 *  from the same connection (an answer that has just arrived) lets its HTTP/2 write without end: the process hangs and its memory grows. */
function cancelLater(stream: { cancel(): void }): void {
  const cancel = stream.cancel.bind(stream);
  stream.cancel = () => void setImmediate(cancel);
}

/** TLS asks for a name, never for an address (RFC 6066), which gRPC would do: the certificate must still match the address. */
function namesOf(endpoint: string): { readonly check: VerifyOptions; readonly options: ClientOptions } {
  const host = endpoint.slice(0, endpoint.lastIndexOf(':')).replace(/^\[|\]$/g, '');
  if (isIP(host) === 0) return { check: {}, options: {} };
  return {
    check: { checkServerIdentity: (_name, certificate) => checkServerIdentity(host, certificate) },
    options: { 'grpc.ssl_target_name_override': nameOfAddress },
  };
}

/** Each name is that of one method, whatever its service. */
function methodOf(name: keyof Calls | keyof Streams) {
  const service = Object.values(etcdDefinitions).find((each) => name in each);
  if (service === undefined) throw new Error(`the descriptor of etcd has no ${name}`);
  return Reflect.get(service, name) as {
    readonly path: string;
    readonly requestSerialize: (request: object) => Buffer;
    readonly responseDeserialize: (bytes: Buffer) => object;
  };
}
