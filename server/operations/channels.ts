// The channels of one operation: duplex connections that clients open with a secret each. The edge carries them.
import { errors } from '../api/errors.ts';
import { randomSecret, sameSecret } from '../lib/secrets.ts';

/** `text` frames mark ends and carry control messages; their bytes are UTF-8. */
export interface Frame {
  readonly kind: 'data' | 'text';
  readonly bytes: Buffer;
}

/** One open connection. Both directions are bounded: a slow reader makes its writer wait. */
export interface Channel {
  /** The peer's frames, in order; ends when the peer is gone. For one reader; while frames stay unread the peer has to wait. */
  readonly frames: AsyncIterable<Frame>;
  /** A promise resolves when more may be sent; undefined: at once. Sends nothing after the peer is gone. */
  send(bytes: Uint8Array): Promise<void> | undefined;
  /** Marks the end of output with an empty text frame. The connection stays open. */
  barrier(): Promise<void> | undefined;
  /** Closes once all output is sent. Idempotent. */
  close(): void;
  /** Pings the peer, which has to read all the time, and resolves when it answers no more: what is sent to a host that vanished waits for the
   *  kernel a quarter of an hour. */
  silent(): Promise<void>;
  /** Resolves when the connection is gone, whichever side ended it. */
  readonly gone: Promise<void>;
}

/** Returns at once: the channel is reserved, and the connection may now be made. */
export type Admission = (channel: Channel) => void;

interface Slot {
  readonly secret: string;
  connected: Promise<Channel>;
  connect: (channel: Channel) => void;
  isTaken: boolean;
}

const never = new Promise<never>(() => {});

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

  /** Resolves when a client has connected; never, if none does. */
  connected(name: string): Promise<Channel> {
    const slot = this.#slots.get(name);
    if (slot === undefined) throw new Error(`There is no channel named ${name}`);
    return slot.connected;
  }

  /** Throws forbidden for a wrong secret, badRequest for a channel in use. */
  admit(secret: string): Admission {
    // Compares all secrets, so that timing reveals nothing.
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

  /** Keeps the secrets only: an ended operation stays readable for seconds, in which its connections would fill the memory. */
  close(): void {
    this.#isClosed = true;
    for (const channel of this.#open) channel.close();
    this.#open.clear();
    for (const slot of this.#slots.values()) Object.assign(slot, { connected: never, connect: () => {} });
  }
}

function makeSlot(): Slot {
  let connect: (channel: Channel) => void = () => {};
  const connected = new Promise<Channel>((resolve) => {
    connect = resolve;
  });
  return { secret: randomSecret(), connected, connect: (channel) => connect(channel), isTaken: false };
}
