// Relays events of the other members to the listeners of this one, while there are any.
import type { WebSocket } from 'ws';
import type { Event } from '../api/event.ts';
import type { Log } from '../lib/log.ts';
import { errorText } from '../lib/shared/reason.ts';
import type { Member, Members } from './members.ts';
import type { PeerLinks } from './peer-links.ts';

export interface EventRelayDeps {
  readonly members: Members;
  readonly links: Pick<PeerLinks, 'websocket'>;
  readonly headers: () => Readonly<Record<string, string>>;
  readonly relay: (event: Event, text: string) => void;
  readonly log: Log;
}

/** How long a listener waits for links to the other members before its stream begins. */
const readyMs = 1_500;
/** Links outlive the last listener by this long: the next one often comes soon. */
const restMs = 30_000;
const againMs = 500;
/** A link that was silent for this long counts as dead; the peer pings it. */
const silentMs = 60_000;

export class EventRelay {
  readonly #deps: EventRelayDeps;
  readonly #links = new Map<number, { readonly socket: WebSocket; readonly opened: Promise<void> }>();
  #listeners = 0;
  #resting: NodeJS.Timeout | undefined;
  #isClosed = false;

  constructor(deps: EventRelayDeps) {
    this.#deps = deps;
    deps.members.onPresence((number, isPresent) => {
      if (!isPresent) this.#links.get(number)?.socket.terminate();
      else if (this.#listeners > 0) this.#linkAll();
    });
  }

  /** Serves one listener until the returned function is called. Resolves when events of the reachable members arrive. */
  async listen(): Promise<() => void> {
    this.#listeners += 1;
    clearTimeout(this.#resting);
    this.#linkAll();
    const opened = Promise.all([...this.#links.values()].map((link) => link.opened));
    await Promise.race([opened, new Promise((resolve) => setTimeout(resolve, readyMs).unref())]);
    let isOver = false;
    return () => {
      if (isOver) return;
      isOver = true;
      this.#listeners -= 1;
      if (this.#listeners > 0) return;
      this.#resting = setTimeout(() => this.#end(), restMs);
      this.#resting.unref();
    };
  }

  close(): void {
    this.#isClosed = true;
    clearTimeout(this.#resting);
    this.#end();
  }

  #end(): void {
    for (const { socket } of this.#links.values()) socket.terminate();
  }

  #linkAll(): void {
    if (this.#isClosed) return;
    for (const member of this.#deps.members.reachable()) if (!this.#links.has(member.number)) this.#link(member);
  }

  #link(member: Member): void {
    const { links, headers, relay, log } = this.#deps;
    const socket = links.websocket(member, '/1.0/events?all-projects=true', headers());
    let silence: NodeJS.Timeout | undefined;
    const onSign = (): void => {
      clearTimeout(silence);
      silence = setTimeout(() => socket.terminate(), silentMs);
      silence.unref();
    };
    const opened = new Promise<void>((resolve) => socket.once('open', resolve).once('close', () => resolve()));
    this.#links.set(member.number, { socket, opened });
    onSign();
    socket.on('ping', onSign);
    socket.on('message', (data: Buffer) => {
      onSign();
      const text = data.toString();
      relay(JSON.parse(text) as Event, text);
    });
    socket.on('error', (error) => {
      log.debug(`No events arrive from the cluster member ${member.name}: ${errorText(error)}`);
      socket.terminate();
    });
    socket.on('close', () => {
      clearTimeout(silence);
      this.#links.delete(member.number);
      if (this.#listeners > 0 && !this.#isClosed)
        setTimeout(() => this.#listeners > 0 && this.#linkAll(), againMs).unref();
    });
  }
}
