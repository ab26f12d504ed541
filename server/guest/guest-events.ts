// Notifies containers of changes to their config and devices: one comparison per container and change, for all of its listeners. Without
// listeners it costs nothing.
import { containerUrl } from '../api/project/project-names.ts';
import type { WebSocket } from 'ws';
import { AppError, errors } from '../api/errors.ts';
import type { LifecycleMetadata } from '../api/event.ts';
import type { EventHub } from '../events/hub.ts';
import type { Clock } from '../lib/clock.ts';
import { sendEvent, watchListener } from '../events/websocket-listener.ts';
import {
  guestChanges,
  guestEventTypes,
  type Guest,
  type GuestEvent,
  type GuestFacts,
  type GuestView,
} from '../services/containers/guest-view.ts';

export interface GuestEventsDeps {
  readonly events: EventHub;
  readonly view: Pick<GuestView, 'facts'>;
  readonly clock: Clock;
}

type Types = ReadonlySet<GuestEvent['type']>;

interface Audience {
  readonly guest: Guest;
  readonly peers: Map<WebSocket, Types>;
  last: GuestFacts;
}

/** Max listeners of one container at a time. */
const maxListeners = 8;
/** A listener that reads too slowly is closed at this backlog. */
const maxBacklogBytes = 1024 * 1024;

export class GuestEvents {
  readonly #deps: GuestEventsDeps;
  /** By uuid. */
  readonly #audiences = new Map<string, Audience>();
  #unsubscribe: (() => void) | undefined;

  constructor(deps: GuestEventsDeps) {
    this.#deps = deps;
  }

  /** Throws if the container has the maximum of listeners, or is gone. */
  checkRoom(guest: Guest): void {
    this.#deps.view.facts(guest);
    if ((this.#audiences.get(guest.uuid)?.peers.size ?? 0) < maxListeners) return;
    throw new AppError('unavailable', `The container has ${maxListeners} listeners already, which is all it may have`);
  }

  add(guest: Guest, peer: WebSocket, types: Types): void {
    let audience = this.#audiences.get(guest.uuid);
    if (audience === undefined) {
      audience = { guest, peers: new Map(), last: this.#deps.view.facts(guest) };
      this.#audiences.set(guest.uuid, audience);
      this.#unsubscribe ??= this.#deps.events.subscribe(new Set(['lifecycle']), (event) =>
        this.#changed(event.metadata as LifecycleMetadata),
      );
    }
    audience.peers.set(peer, types);
    watchListener(peer, { onClose: () => this.#remove(guest, peer) });
  }

  /** The container stops: closes its listeners. */
  drop({ uuid }: Guest): void {
    for (const peer of this.#audiences.get(uuid)?.peers.keys() ?? []) peer.terminate();
  }

  #remove({ uuid }: Guest, peer: WebSocket): void {
    const audience = this.#audiences.get(uuid);
    audience?.peers.delete(peer);
    if (audience?.peers.size === 0) this.#audiences.delete(uuid);
    if (this.#audiences.size > 0) return;
    this.#unsubscribe?.();
    this.#unsubscribe = undefined;
  }

  /** Every change of a container's config has such an event; a profile's change may affect many. */
  #changed({ action, source }: LifecycleMetadata): void {
    if (!/^(container-(updated|snapshot-restored)|profile-updated)$/.test(action)) return;
    for (const audience of this.#audiences.values()) {
      const isMeant = action === 'profile-updated' || source === containerUrl(audience.guest.name);
      if (isMeant) this.#notify(audience);
    }
  }

  #notify(audience: Audience): void {
    let now: GuestFacts;
    try {
      now = this.#deps.view.facts(audience.guest);
    } catch {
      return;
    }
    const changes = guestChanges(audience.last, now);
    audience.last = now;
    const timestamp = this.#deps.clock.timestamp();
    for (const change of changes) {
      const line = JSON.stringify({ type: change.type, timestamp, metadata: change.metadata });
      for (const [peer, types] of audience.peers) {
        if (types.has(change.type)) sendEvent(peer, line, maxBacklogBytes);
      }
    }
  }
}

/** Absent or empty: all. */
export function guestTypes(asked: string | null): Types {
  if (asked === null || asked === '') return new Set(guestEventTypes);
  const wanted = asked.split(',');
  const unknown = wanted.filter((type) => !(guestEventTypes as readonly string[]).includes(type));
  if (unknown.length === 0) return new Set(wanted as GuestEvent['type'][]);
  throw errors.badRequest(`The type ${unknown.join(', ')} is none of ${guestEventTypes.join(', ')}`);
}
