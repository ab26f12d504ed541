// Fan-out of notifications to listeners; knows events, but not who listens or how they are sent.
import type { Event, EventType, LifecycleMetadata, LoggingMetadata } from '../api/event.ts';
import { projectOfUrl } from '../api/project/project-of-url.ts';
import type { Operation } from '../api/operation.ts';
import type { Clock } from '../lib/clock.ts';
import { withoutUndefined } from '../lib/shared/without-undefined.ts';

export interface Requestor {
  readonly username: string;
  readonly protocol: string;
  readonly address: string;
}

export type EventListener = (event: Event, text: string) => void;

interface Subscription {
  readonly types: ReadonlySet<EventType>;
  readonly isOwnOnly: boolean;
}

/** Listeners get each event with its JSON text, rendered once for all of them; they must not throw and not block. */
export class EventHub {
  readonly #clock: Clock;
  readonly #location: () => string;
  readonly #listeners = new Map<EventListener, Subscription>();

  /** `location`: name of this member of a cluster. */
  constructor(clock: Clock, location: () => string = () => 'none') {
    this.#clock = clock;
    this.#location = location;
  }

  get listenerCount(): number {
    return this.#listeners.size;
  }

  /** `isOwnOnly`: without events of other members of the cluster. */
  subscribe(types: ReadonlySet<EventType>, listener: EventListener, isOwnOnly = false): () => void {
    this.#listeners.set(listener, { types, isOwnOnly });
    return () => this.#listeners.delete(listener);
  }

  hasListener(type: EventType): boolean {
    for (const { types } of this.#listeners.values()) if (types.has(type)) return true;
    return false;
  }

  /** `project`: undefined if it belongs to none. */
  operation(operation: Operation, project?: string): void {
    this.#publish('operation', operation, project);
  }

  lifecycle(
    action: string,
    source: string,
    { requestor }: { readonly requestor: Requestor },
    context?: Record<string, unknown>,
  ): void {
    const metadata: LifecycleMetadata = { action, source, ...withoutUndefined({ context }), requestor };
    this.#publish('lifecycle', metadata, projectOfUrl(source));
  }

  logging(metadata: LoggingMetadata): void {
    this.#publish('logging', metadata);
  }

  /** An event of another member of the cluster, with its JSON text. */
  relay(event: Event, text: string): void {
    for (const [listener, { types, isOwnOnly }] of this.#listeners)
      if (!isOwnOnly && types.has(event.type)) listener(event, text);
  }

  #publish(type: EventType, metadata: unknown, project?: string): void {
    if (this.#listeners.size === 0) return;
    const event: Event = {
      type,
      timestamp: this.#clock.timestamp(),
      metadata,
      location: this.#location(),
      ...withoutUndefined({ project }),
    };
    let text: string | undefined;
    for (const [listener, { types }] of this.#listeners) {
      if (!types.has(type)) continue;
      text ??= JSON.stringify(event);
      listener(event, text);
    }
  }
}
