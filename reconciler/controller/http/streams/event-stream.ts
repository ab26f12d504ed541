// Server-sent events: sends each event of the controller to every listening page. Slow listeners lose events and get a notice.
import { randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Controller } from '../../controller.ts';
import type { ControllerEvent } from '../../contract/index.ts';
import { aboutOf, isAbout, overviewIn, type About, type Scope } from '../access/scope.ts';
import { Refusal } from '../refusal.ts';

export interface EventStreamLimits {
  readonly listeners: number;
  /** Max bytes of events kept for listeners that reconnect. */
  readonly keptBytes: number;
  /** Max bytes that one listener has not read yet. */
  readonly backlogBytes: number;
  readonly heartbeatMs: number;
}

export const eventStreamLimits: EventStreamLimits = {
  listeners: 256,
  keptBytes: 1024 * 1024,
  backlogBytes: 1024 * 1024,
  heartbeatMs: 15_000,
};

export interface Listening {
  /** The session or token of the listener is still valid. */
  readonly isAllowed: () => boolean;
  /** The sets whose events it gets. */
  readonly scope: () => Scope;
}

interface Listener extends Listening {
  readonly response: ServerResponse;
  isBehind: boolean;
}

interface BacklogEvent {
  readonly number: number;
  readonly about: About;
  readonly text: string;
}

export class EventStream {
  readonly #limits: EventStreamLimits;
  readonly #controller: Pick<Controller, 'overview'>;
  readonly #listeners = new Set<Listener>();
  readonly #unsubscribe: () => void;
  readonly #heartbeat: NodeJS.Timeout;
  /** Distinguishes our ids from those of an earlier process. */
  readonly #epoch = randomBytes(4).toString('hex');
  readonly #kept: BacklogEvent[] = [];
  #keptBytes = 0;
  #last = 0;

  constructor(controller: Pick<Controller, 'subscribe' | 'overview'>, limits: EventStreamLimits = eventStreamLimits) {
    this.#limits = limits;
    this.#controller = controller;
    this.#unsubscribe = controller.subscribe((event) => this.#send(event));
    this.#heartbeat = setInterval(() => this.#beat(), limits.heartbeatMs).unref();
  }

  get size(): number {
    return this.#listeners.size;
  }

  /** Throws Refusal when there are too many listeners. */
  open(
    request: IncomingMessage,
    response: ServerResponse,
    headers: Readonly<Record<string, string>>,
    listening: Listening,
  ): void {
    // It went while its login was checked, and closes no second time.
    if (response.destroyed) return;
    if (this.#listeners.size >= this.#limits.listeners)
      throw new Refusal('unavailable', `${this.#limits.listeners} listeners are connected; no more are possible`);
    const listener: Listener = { response, ...listening, isBehind: false };
    this.#listeners.add(listener);
    response.once('close', () => this.#listeners.delete(listener));
    response.on('error', () => response.destroy());
    response.on('drain', () => this.#caughtUp(listener));
    response.writeHead(200, {
      ...headers,
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    response.write(this.#greeting(request.headers['last-event-id'], listening.scope()));
  }

  close(): void {
    this.#unsubscribe();
    clearInterval(this.#heartbeat);
    for (const { response } of this.#listeners) response.end();
  }

  /** The missed events, if they are still kept. */
  #greeting(lastId: string | string[] | undefined, scope: Scope): string {
    if (typeof lastId !== 'string') return `retry: 1000\nid: ${this.#id(this.#last)}\n\n`;
    const [epoch, number] = lastId.split('-');
    const seen = Number(number);
    const oldest = this.#kept[0]?.number ?? this.#last + 1;
    if (epoch !== this.#epoch || !Number.isInteger(seen) || seen < oldest - 1 || seen > this.#last)
      return this.#message({ type: 'reset', reason: 'the controller no longer knows which events were missed' });
    return `retry: 1000\n\n${this.#kept
      .filter((event) => event.number > seen && this.#isSeen(event.about, scope))
      .map(({ text }) => text)
      .join('')}`;
  }

  #send(event: ControllerEvent): void {
    this.#last += 1;
    const text = this.#message(event);
    const about = aboutOf(event);
    this.#keep({ number: this.#last, about, text });
    for (const listener of this.#listeners) {
      if (listener.isBehind || !this.#isSeen(about, listener.scope())) continue;
      if (listener.response.writableLength > this.#limits.backlogBytes) listener.isBehind = true;
      else listener.response.write(text);
    }
  }

  #isSeen(about: About, scope: Scope): boolean {
    if (scope === undefined) return true;
    // The cheap case first: hosts and sources of a scope need the overview.
    if (about.set !== undefined) return scope(about.set);
    const isNamed = about.host !== undefined || about.source !== undefined;
    return isNamed && isAbout(about, overviewIn(this.#controller.overview(), scope), scope);
  }

  #keep(event: BacklogEvent): void {
    this.#kept.push(event);
    this.#keptBytes += event.text.length;
    let first = 0;
    while (this.#keptBytes > this.#limits.keptBytes) {
      this.#keptBytes -= this.#kept[first]?.text.length ?? 0;
      first += 1;
    }
    if (first > 0) this.#kept.splice(0, first);
  }

  #caughtUp(listener: Listener): void {
    if (!listener.isBehind) return;
    listener.isBehind = false;
    listener.response.write(this.#message({ type: 'reset', reason: 'the connection was slower than the events' }));
  }

  #beat(): void {
    for (const listener of this.#listeners) {
      if (!listener.isAllowed()) listener.response.end();
      else if (!listener.isBehind) listener.response.write(': here\n\n');
    }
  }

  // JSON escapes line breaks, so an event is always one line of data.
  readonly #message = (event: ControllerEvent): string =>
    `id: ${this.#id(this.#last)}\ndata: ${JSON.stringify(event)}\n\n`;
  readonly #id = (number: number): string => `${this.#epoch}-${number}`;
}
