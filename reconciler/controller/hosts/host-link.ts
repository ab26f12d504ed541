// One host of the controller: its connection, its cached lists, and the watch that reports what changed there. Shared by all sets on it.
import { isDeepStrictEqual } from 'node:util';
import { createClient, type Client, type ClientOptions } from '../../../server/client/client.ts';
import { pause } from '../../../server/lib/shared/deadline.ts';
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import type { LifecycleChange } from '../../core/drift/lifecycle-changes.ts';
import { CachedLists } from '../../engine/observe/cached-reader.ts';
import { CertificateBook } from '../../engine/observe/certificate-names.ts';
import { watch, type Occasion } from '../../engine/observe/watch.ts';
import type { Host } from '../../manifest/hosts-file.ts';
import { retryPauseMs } from '../decide/retry.ts';
import { readTls } from '../../engine/certificate-files.ts';
import type { HostStatus } from '../contract/index.ts';
import { readFacts, type HostFacts } from './host-facts.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface LinkDeps {
  /** Time between two full observations. */
  readonly intervalMs: () => number;
  readonly parallelism: number;
  readonly onStatus: (status: HostStatus) => void;
  /** Absent: the address and the certificates of the host are used. */
  readonly connect?: () => Promise<Client>;
  /** Asks whether the connection may still be used: at each whole look and before each run. Throws why not. */
  readonly check?: (client: Client, signal: AbortSignal) => Promise<void>;
}

type Listener = (occasion: Occasion) => void;

/** Pause after a failed observation; it grows with each further failure. */
const retryMs = 1000;
const longestRetryMs = 30_000;
const factsEveryMs = 300_000;

export class HostLink {
  readonly #deps: LinkDeps;
  readonly #listeners = new Set<Listener>();
  #host: Host;
  #client: Client | undefined;
  #lists: CachedLists | undefined;
  #book: CertificateBook | undefined;
  #status: HostStatus;
  #lookNow = (): void => {};
  #facts: HostFacts = {};
  /** When the facts are read again. */
  #factsDueMs = 0;

  constructor(host: Host, deps: LinkDeps) {
    this.#host = host;
    this.#deps = deps;
    this.#status = { name: host.name, labels: host.labels, status: 'unknown' };
  }

  get host(): Host {
    return this.#host;
  }

  /** Takes new labels, groups or variables of the host and keeps its connection. */
  describe(host: Host): void {
    this.#host = host;
    this.#status = { ...this.#status, labels: host.labels };
    this.#deps.onStatus(this.#status);
  }

  get status(): HostStatus {
    return this.#status;
  }

  get isOnline(): boolean {
    return this.#status.status === 'online';
  }

  /** `listener` is called after each observation, also the first. Returns a function that removes it. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Ends when `signal` fires; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    const { project } = this.host;
    const events: Parameters<typeof watch>[0]['events'] = (ended, options) =>
      this.#opened().events(['lifecycle'], ended, options);
    try {
      await this.#open(signal);
      await watch(
        {
          events,
          look: (occasion, ended) => this.#look(occasion, ended),
          onConnection: (state) =>
            state === 'lost' ? this.#setStatus('offline', 'the event connection is lost') : undefined,
          onFailure: (error) => this.#setStatus('offline', reasonOf(error)),
          onStart: (lookNow) => void (this.#lookNow = lookNow),
          intervalMs: this.#deps.intervalMs,
          gatherMs: 20,
          retryMs,
          ...withoutUndefined({ project }),
        },
        signal,
      );
    } catch (error) {
      if (!signal.aborted) this.#setStatus('offline', reasonOf(error));
    }
    await this.#client?.close();
  }

  /** Throws while the certificates of the host cannot be read. */
  get client(): Client {
    return this.#opened();
  }

  /** A client that takes lists from the cache. */
  reader(): Client {
    const client = this.#opened();
    return Object.assign(Object.create(client) as Client, { list: this.#lists?.list });
  }

  lookNow(): void {
    this.#lookNow();
  }

  /** Throws where the host lets the connection reach other things than it should. */
  async check(signal: AbortSignal): Promise<void> {
    await this.#deps.check?.(this.#opened(), signal);
  }

  /** After own changes: their events come too, but later. */
  forgetLists(): void {
    this.#lists?.forget();
  }

  /** Adds the names of the certificates that are known on the host. */
  async named(seen: readonly LifecycleChange[], signal: AbortSignal): Promise<readonly LifecycleChange[]> {
    return (await this.#book?.name(seen, signal)) ?? seen;
  }

  /** Tries until the host answers; its certificates may not exist yet. */
  async #open(signal: AbortSignal): Promise<void> {
    for (let failures = 1; this.#client === undefined; failures += 1)
      try {
        this.#client = await (this.#deps.connect?.() ?? connectTo(this.host, this.#deps.parallelism));
      } catch (error) {
        this.#setStatus('offline', reasonOf(error));
        await pause(retryPauseMs({ firstMs: retryMs, longestMs: longestRetryMs }, failures, 1), signal);
      }
    this.#lists = new CachedLists(this.#client);
    this.#book = new CertificateBook(this.#lists.list);
  }

  #opened(): Client {
    if (this.#client === undefined)
      throw new Error(`${this.host.name} is not connected: ${this.#status.message ?? 'not yet'}`);
    return this.#client;
  }

  async #look(occasion: Occasion, signal: AbortSignal): Promise<void> {
    if (occasion.isWhole) {
      await (this.#deps.check?.(this.#opened(), signal) ?? this.#opened().server(signal));
      this.#lists?.forget();
      this.#book?.forget();
    } else await this.#lists?.refresh(occasion.seen, signal);
    this.#setStatus('online');
    if (occasion.isWhole) void this.#readFacts(signal);
    for (const listener of this.#listeners) listener(occasion);
  }

  /** Runs in the background; a failure does not change the status of the host. */
  async #readFacts(signal: AbortSignal): Promise<void> {
    const now = performance.now();
    if (now < this.#factsDueMs) return;
    this.#factsDueMs = now + factsEveryMs;
    const facts = await readFacts(this.#opened(), signal).catch(() => undefined);
    if (facts === undefined || isDeepStrictEqual(facts, this.#facts)) return;
    this.#facts = facts;
    this.#status = { ...this.#status, ...facts };
    this.#deps.onStatus(this.#status);
  }

  #setStatus(status: HostStatus['status'], message?: string): void {
    const { name, labels } = this.host;
    const isSame = this.#status.status === status && this.#status.message === message;
    this.#status = { name, labels, status, ...withoutUndefined({ message }), ...this.#facts };
    if (!isSame) this.#deps.onStatus(this.#status);
  }
}

/** The key is the address and the certificates of the host. */
export async function connectTo(host: Host, parallelism: number): Promise<Client> {
  const { address, project, clientCert, clientKey, serverCert } = host;
  const names = { clientCert: 'client_cert', clientKey: 'client_key', serverCert: 'server_cert' };
  const tls = await readTls({ clientCert, clientKey, serverCert }, names);
  const options: ClientOptions = {
    connections: Math.max(4, parallelism),
    ...(Object.keys(tls).length === 0 ? {} : { tls }),
    ...withoutUndefined({ project }),
  };
  return createClient(address, options);
}
