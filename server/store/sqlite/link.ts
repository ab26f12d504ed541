// The main thread's end of the SQLite worker: starts it, matches replies to calls, and reports its death.
import { Worker } from 'node:worker_threads';
import type { CallKind, CallMessage, Calls, ReplyMessage, WireError } from './protocol.ts';
import { StoreError } from '../store.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

interface Waiting {
  readonly kind: CallKind;
  readonly accept: (reply: unknown) => void;
  readonly reject: (error: StoreError) => void;
}

/** The worker has only rows in transit, not the data; values are outside this heap. */
const workerLimits = { maxOldGenerationSizeMb: 128, maxYoungGenerationSizeMb: 4 };

export class SqliteLink {
  readonly #worker: Worker;
  readonly #waiting = new Map<number, Waiting>();
  readonly #onDeath: (error: StoreError) => void;
  #lastId = 0;
  #death: StoreError | undefined;

  constructor(workerUrl: URL, onDeath: (error: StoreError) => void) {
    this.#onDeath = onDeath;
    this.#worker = new Worker(workerUrl, {
      resourceLimits: workerLimits,
      execArgv: ['--disable-warning=ExperimentalWarning'],
    });
    this.#worker.on('message', (message: ReplyMessage) => this.#receive(message));
    this.#worker.on('error', (cause) => this.#die(cause));
    this.#worker.on('exit', () => this.#die());
  }

  /** Calls `accept` at once when the reply arrives, in the worker's order; then resolves. */
  call<K extends CallKind>(
    kind: K,
    request: Calls[K]['request'],
    accept?: (reply: Calls[K]['reply']) => void,
  ): Promise<Calls[K]['reply']> {
    if (this.#death) return Promise.reject(this.#death);
    this.#lastId += 1;
    const message: CallMessage = { id: this.#lastId, kind, request };
    return new Promise((resolve, reject) => {
      this.#waiting.set(message.id, {
        kind,
        accept: (reply) => {
          accept?.(reply as Calls[K]['reply']);
          resolve(reply as Calls[K]['reply']);
        },
        reject,
      });
      // An open store alone does not keep a process running, a pending call does.
      this.#worker.ref();
      // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread has no origin
      this.#worker.postMessage(message);
    });
  }

  async terminate(): Promise<void> {
    await this.#worker.terminate();
  }

  #receive(message: ReplyMessage): void {
    const waiting = this.#waiting.get(message.id);
    this.#waiting.delete(message.id);
    if (this.#waiting.size === 0) this.#worker.unref();
    if ('error' in message) waiting?.reject(storeErrorOf(message.error));
    else waiting?.accept(message.reply);
  }

  #die(cause?: Error): void {
    if (this.#death) return;
    this.#death = new StoreError('Unavailable', 'the SQLite worker has stopped', { cause });
    const waiting = [...this.#waiting.values()];
    this.#waiting.clear();
    for (const { kind, reject } of waiting) {
      const isWrite = kind === 'write' || kind === 'grantLease' || kind === 'dropLease';
      reject(isWrite ? new StoreError('Unknown', 'the SQLite worker stopped during a write', { cause }) : this.#death);
    }
    this.#onDeath(this.#death);
  }
}

function storeErrorOf({ code, message, cause, compactRev }: WireError): StoreError {
  return new StoreError(code, message, {
    ...(cause === undefined ? {} : { cause: new Error(cause) }),
    ...withoutUndefined({ compactRev }),
  });
}
