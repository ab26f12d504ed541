// The fence: a key that every write of a writer compares. Moving it ensures that a write without an answer is never applied later; another
// value in it ensures that an earlier writer writes nothing more.
import { StoreError } from '../store.ts';
import { EtcdFailure } from './failure.ts';
import type { EtcdLink } from './link.ts';
import type { KeyValue, TxnRequest } from './messages.ts';

export class Fence {
  readonly key: Buffer;
  readonly #link: EtcdLink;
  /** The value that the fence must keep while this store owns it. */
  #owner: Buffer | undefined;
  #revision: number;
  #moving: Promise<void> | undefined;

  constructor(link: EtcdLink, found: Pick<KeyValue, 'key' | 'modRevision'>, owner?: Buffer) {
    this.#link = link;
    this.key = found.key;
    this.#revision = Number(found.modRevision);
    this.#owner = owner;
  }

  get owner(): Buffer | undefined {
    return this.#owner;
  }

  get revision(): number {
    return this.#revision;
  }

  /** This store has put `owner` into the fence, at `revision`. */
  take(owner: Buffer, revision: number): void {
    this.#owner = owner;
    this.#revision = revision;
  }

  /** Another process moved the fence. Throws Locked if that one shut this store out. */
  adopt(found: Pick<KeyValue, 'modRevision' | 'value'> | undefined): void {
    if (found === undefined) throw new StoreError('Corrupt', 'the fence of the store was deleted from etcd');
    if (this.#owner !== undefined && !found.value.equals(this.#owner)) throw lockedOut(found.value);
    this.#revision = Math.max(this.#revision, Number(found.modRevision));
  }

  /** Resolves once no write sent under `revision` can be applied any more. */
  async leaveBehind(revision: number): Promise<void> {
    while (this.#revision <= revision) {
      this.#moving ??= this.#move().finally(() => {
        this.#moving = undefined;
      });
      await this.#moving;
    }
  }

  async #move(): Promise<void> {
    const patience = this.#link.patience();
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
        const { succeeded, header, responses } = await this.#link.attempt('Txn', move, patience);
        if (succeeded) this.#revision = Math.max(this.#revision, Number(header.revision));
        else this.adopt(responses[0]?.responseRange?.kvs[0]);
        return;
      } catch (error) {
        if (!(error instanceof EtcdFailure)) throw error;
        if (error.kind !== 'unreachable' || patience.isOver) throw error.toStoreError();
      }
      await this.#link.pause(attempt);
    }
  }
}

/** A fence's value: its owner, or who ended it. */
type FenceValue =
  | { readonly owner: string; readonly holder: string }
  | { readonly fencedOutBy: string; readonly owner: string };

/** `owner` is unique to a process; `holder` is its name in messages. */
export const fenceValue = (value: FenceValue): Buffer => Buffer.from(JSON.stringify(value));

/** Who has ended this fence; undefined while it is in use. */
export function fencedOutBy(value: Buffer): string | undefined {
  return textOf(value, 'fencedOutBy');
}

function lockedOut(value: Buffer): StoreError {
  const by = fencedOutBy(value);
  if (by === undefined) return takenOver(textOf(value, 'holder') ?? 'another daemon');
  return new StoreError(
    'Locked',
    `${by} has shut this daemon out of the store: it writes nothing more until it is restarted`,
  );
}

function textOf(value: Buffer, key: string): string | undefined {
  try {
    const found: unknown = (JSON.parse(value.toString()) as Record<string, unknown> | null)?.[key];
    return typeof found === 'string' ? found : undefined;
  } catch {
    return undefined;
  }
}

export const takenOver = (other: string): StoreError =>
  new StoreError('Locked', `${other} has taken over the store: this daemon writes nothing more`);
