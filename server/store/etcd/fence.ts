// The fence: a key that every write compares. Moving it makes sure that a write without an answer is never applied later, and that the
// earlier holder of an exclusive store writes nothing more.
import { StoreError } from '../store.ts';
import { EtcdFailure } from './failure.ts';
import type { EtcdLink } from './link.ts';
import type { KeyValue, TxnRequest } from './messages.ts';

export class Fence {
  readonly key: Buffer;
  readonly #link: EtcdLink;
  /** Set while this store is the only writer: then the fence must hold this value. */
  #owner: Buffer | undefined;
  #revision: number;
  #moving: Promise<void> | undefined;

  constructor(link: EtcdLink, found: Pick<KeyValue, 'key' | 'modRevision'>) {
    this.#link = link;
    this.key = found.key;
    this.#revision = Number(found.modRevision);
  }

  get revision(): number {
    return this.#revision;
  }

  /** This store has put `owner` into the fence, at `revision`. */
  take(owner: Buffer, revision: number): void {
    this.#owner = owner;
    this.#revision = revision;
  }

  /** The fence was moved. Throws Locked when that was another exclusive writer. */
  adopt(found: Pick<KeyValue, 'modRevision' | 'value'> | undefined): void {
    if (found === undefined) throw new StoreError('Corrupt', 'the fence of the store was deleted from etcd');
    if (this.#owner !== undefined && !found.value.equals(this.#owner)) throw takenOver('another daemon');
    this.#revision = Math.max(this.#revision, Number(found.modRevision));
  }

  /** When it resolves, no write that was sent under `revision` can be applied any more. */
  async leaveBehind(revision: number): Promise<void> {
    while (this.#revision <= revision) {
      this.#moving ??= this.#move().finally(() => {
        this.#moving = undefined;
      });
      await this.#moving;
    }
  }

  async #move(): Promise<void> {
    const end = performance.now() + this.#link.totalMs;
    const owner = this.#owner;
    const move: TxnRequest = {
      compare: [
        owner === undefined
          ? { result: 'GREATER', target: 'VERSION', key: this.key, version: 0 }
          : { result: 'EQUAL', target: 'VALUE', key: this.key, value: owner },
      ],
      success: [{ requestPut: { key: this.key, ignoreValue: true } }],
      failure: [{ requestRange: { key: this.key } }],
    };
    for (let attempt = 0; ; attempt += 1) {
      try {
        const { succeeded, header, responses } = await this.#link.attempt('Txn', move);
        if (succeeded) this.#revision = Math.max(this.#revision, Number(header.revision));
        else this.adopt(responses[0]?.responseRange?.kvs[0]);
        return;
      } catch (error) {
        if (!(error instanceof EtcdFailure)) throw error;
        if (error.kind !== 'unreachable' || performance.now() >= end) throw error.toStoreError();
      }
      await this.#link.pause(attempt);
    }
  }
}

export const takenOver = (other: string): StoreError =>
  new StoreError('Locked', `${other} has taken over the store: this daemon writes nothing more`);
