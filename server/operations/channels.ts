// The channels of one operation: duplex connections that clients open with a secret each. How they are carried is the edge's business.
import { errors } from '../api/errors.ts';
import { randomSecret, sameSecret } from '../lib/secrets.ts';

/** `text` frames mark ends and carry control messages; their bytes are UTF-8. */
export interface Frame {
  readonly kind: 'data' | 'text';
  readonly bytes: Buffer;
}

/** One open connection. Both directions are bounded: a slow reader makes its writer wait. */
export interface Channel {
  /** What the peer sends, in order; ends when the peer is gone. For one reader; while nobody takes frames the peer has to wait. */
  readonly frames: AsyncIterable<Frame>;
  /** A promise: resolves when more may be sent. undefined: at once. After the peer is gone it sends nothing. */
  send(bytes: Uint8Array): Promise<void> | undefined;
  /** "Nothing more comes from here": an empty text frame. The connection stays. */
  barrier(): Promise<void> | undefined;
  /** Lets go once everything sent is out. Idempotent. */
  close(): void;
  /** Resolves when the connection is gone, whoever ended it. */
  readonly gone: Promise<void>;
}

/** Waits for nobody: the name is taken, the connection may now be made. */
export type Admission = (channel: Channel) => void;

interface Slot {
  readonly secret: string;
  readonly connected: Promise<Channel>;
  readonly connect: (channel: Channel) => void;
  isTaken: boolean;
}

export class ChannelSet {
  readonly #slots: ReadonlyMap<string, Slot>;
  readonly #open = new Set<Channel>();
  #isClosed = false;

  constructor(names: readonly string[]) {
    this.#slots = new Map(names.map((name) => [name, makeSlot()]));
  }

  /** Name -> secret, for the operation's metadata. */
  get secrets(): Readonly<Record<string, string>> {
    return Object.fromEntries([...this.#slots].map(([name, { secret }]) => [name, secret]));
  }

  /** Resolves when a client has connected; never, when none does. */
  connected(name: string): Promise<Channel> {
    const slot = this.#slots.get(name);
    if (slot === undefined) throw new Error(`There is no channel named ${name}`);
    return slot.connected;
  }

  /** Throws forbidden for a wrong secret, badRequest for a channel that is in use. */
  admit(secret: string): Admission {
    // All are compared, so that the time taken tells nothing.
    const slot = [...this.#slots.values()].filter((one) => sameSecret(one.secret, secret))[0];
    if (slot === undefined) throw errors.forbidden('The secret of the operation is wrong or missing');
    if (slot.isTaken) throw errors.badRequest('This channel of the operation is connected already');
    slot.isTaken = true;
    return (channel) => {
      if (this.#isClosed) {
        channel.close();
        return;
      }
      this.#open.add(channel);
      slot.connect(channel);
    };
  }

  /** The operation has ended. */
  close(): void {
    this.#isClosed = true;
    for (const channel of this.#open) channel.close();
  }
}

function makeSlot(): Slot {
  let connect: (channel: Channel) => void = () => {};
  const connected = new Promise<Channel>((resolve) => {
    connect = resolve;
  });
  return { secret: randomSecret(), connected, connect: (channel) => connect(channel), isTaken: false };
}
