// One background operation: its state, who waits for it, and its work.
import { randomUUID } from 'node:crypto';
import { errors } from '../api/errors.ts';
import type { Operation, OperationClass } from '../api/operation.ts';
import { isFinal, statusCodes } from '../api/status.ts';
import type { EventHub } from '../events/hub.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { errorText } from '../lib/shared/reason.ts';
import type { EventLoopMonitor } from '../lib/event-loop-monitor.ts';
import type { ChannelSet } from './channels.ts';
import { defaultProject } from '../api/project/project-names.ts';
import { inSpan } from '../lib/shared/spans.ts';
import type { SpanPlace } from '../lib/shared/traceparent.ts';
import { projectOfUrl } from '../api/project/project-of-url.ts';
import { nextStatus, renderOperation, type OperationState, type Transition } from './operation.ts';

export interface OperationRequest {
  readonly class?: OperationClass;
  readonly description: string;
  /** Resource kind -> URLs. */
  readonly resources: Readonly<Record<string, readonly string[]>>;
  /** Project of the request, which may use objects of another one. Default: project of the first resource. */
  readonly project?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly mayCancel?: boolean;
  /** Clients cannot cancel it, but a stopping daemon aborts it instead of waiting. */
  readonly endsWithDaemon?: boolean;
  /** Connections that clients may open while the operation runs; closed at its end. */
  readonly channels?: ChannelSet;
  /** Metadata returned is merged at the end. A throw ends the operation as Failure, with the error chain as `err`. */
  readonly run: (handle: OperationHandle, signal: AbortSignal) => Promise<Readonly<Record<string, unknown>> | void>;
}

export interface OperationHandle {
  readonly id: string;
  /** Merges into metadata and notifies listeners. */
  update(metadata: Readonly<Record<string, unknown>>): void;
}

export interface OperationDeps {
  readonly clock: Clock;
  readonly events: EventHub;
  readonly log: Log;
  /** Receives running operations. */
  readonly loop?: Pick<EventLoopMonitor, 'enter'>;
  /** Makes a text readable for users of this project. */
  readonly readable?: (text: string, project: string) => string;
  /** This daemon's place in its cluster. */
  readonly place: OperationPlace;
}

export interface OperationPlace {
  readonly ownName: string;
  /** The operation id for an operation of this member, from a random one. */
  operationId(random: string): string;
  /** Resolves when other members can see what the operation did to these objects, by URL, and to the objects of emitted events. */
  awaitVisible(urls: readonly string[]): Promise<void>;
}

export class RunningOperation {
  readonly abort = new AbortController();
  readonly channels: ChannelSet | undefined;
  /** Where its trace continues; undefined: not traced. */
  span: SpanPlace | undefined;
  /** Fingerprint of the client certificate, or the user, that started it. */
  owner: string | undefined;
  readonly #deps: OperationDeps;
  /** Undefined once it has ended: the work refers to all that it used. */
  #work: Pick<OperationRequest, 'run' | 'endsWithDaemon'> | undefined;
  readonly #waiters = new Set<() => void>();
  #state: OperationState;

  constructor(request: OperationRequest, deps: OperationDeps) {
    const now = deps.clock.timestamp();
    this.#deps = deps;
    this.#work = request;
    this.channels = request.channels;
    this.#state = {
      id: deps.place.operationId(randomUUID()),
      class: request.class ?? 'task',
      description: request.description,
      createdAt: now,
      updatedAt: now,
      statusCode: statusCodes.pending,
      resources: request.resources,
      project: request.project ?? projectOfUrl(Object.values(request.resources).flat()[0] ?? ''),
      metadata: request.metadata ?? null,
      mayCancel: request.mayCancel ?? false,
      location: deps.place.ownName,
      err: '',
    };
  }

  get state(): OperationState {
    return this.#state;
  }

  get hasEnded(): boolean {
    return isFinal(this.#state.statusCode);
  }

  get urls(): readonly string[] {
    return Object.values(this.#state.resources).flat();
  }

  render(): Operation {
    return renderOperation(this.#state);
  }

  /** Works until the end; never rejects. */
  async run(): Promise<void> {
    const work = this.#work;
    if (work === undefined) return;
    const { loop, place } = this.#deps;
    this.#publish();
    this.#step('start');
    const { id, class: kind, description } = this.#state;
    const leave = loop?.enter(() => `operation ${description}`);
    const attributes = { 'gantry.operation': id, 'gantry.operation.class': kind };
    try {
      const metadata = await inSpan(`operation: ${description}`, { attributes }, (span) => {
        if (span !== undefined) this.span = span.place;
        return work.run({ id, update: (some) => this.#update(some) }, this.abort.signal);
      });
      if (metadata !== undefined) this.#set({ metadata: { ...this.#state.metadata, ...metadata } });
      await place.awaitVisible(this.urls);
      this.#step('succeed');
    } catch (error) {
      await place.awaitVisible(this.urls);
      this.#fail(error);
    } finally {
      leave?.();
    }
    this.channels?.close();
    this.#work = undefined;
  }

  /** At the request of a client. Throws notCancellable. */
  cancel(): void {
    const { id, mayCancel, statusCode } = this.#state;
    if (this.hasEnded) throw errors.notCancellable(`The operation ${id} has already ended`);
    if (!mayCancel) throw errors.notCancellable(`The operation ${id} cannot be cancelled`);
    if (statusCode === statusCodes.cancelling) return;
    this.#step('cancel');
    this.abort.abort(new Error('cancelled by request'));
  }

  /** Aborts it where it can end early; a change of the host in a few steps is completed: half of it would be worse. */
  endEarly(why: string): void {
    if (!this.hasEnded && (this.#state.mayCancel || this.#work?.endsWithDaemon === true))
      this.abort.abort(new Error(why));
  }

  /** Resolves when it has ended, at the timeout (undefined: none) or when `signal` aborts. */
  async ended(timeoutMs: number | undefined, signal?: AbortSignal): Promise<void> {
    if (this.hasEnded || timeoutMs === 0 || signal?.aborted === true) return;
    const waiters = this.#waiters;
    await new Promise<void>((resolve) => {
      const timer = timeoutMs === undefined ? undefined : setTimeout(wake, Math.min(timeoutMs, 2 ** 31 - 1));
      function wake(): void {
        clearTimeout(timer);
        waiters.delete(wake);
        signal?.removeEventListener('abort', wake);
        resolve();
      }
      waiters.add(wake);
      signal?.addEventListener('abort', wake, { once: true });
    });
  }

  #update(metadata: Readonly<Record<string, unknown>>): void {
    if (this.hasEnded) return;
    this.#set({ metadata: { ...this.#state.metadata, ...this.#readableTexts(metadata) } });
    this.#publish();
  }

  #fail(error: unknown): void {
    const { id, description, statusCode } = this.#state;
    const err = this.#readable(errorText(error));
    if (statusCode === statusCodes.cancelling) {
      this.#set({ err });
      this.#step('cancelled');
      return;
    }
    this.#deps.log.warn(`Operation failed: ${description}: ${errorText(error)}`, { operation: id });
    this.#state = { ...this.#state, err };
    this.#step('fail');
  }

  #step(transition: Transition): void {
    const next = nextStatus(this.#state.statusCode, transition);
    if (next === undefined) return;
    this.#state = { ...this.#state, statusCode: next, ...(isFinal(next) ? { mayCancel: false } : {}) };
    this.#publish();
    if (isFinal(next)) for (const wake of this.#waiters) wake();
  }

  #set(change: Partial<OperationState>): void {
    this.#state = { ...this.#state, ...change, updatedAt: this.#deps.clock.timestamp() };
  }

  #publish(): void {
    const { events } = this.#deps;
    if (events.listenerCount > 0) events.operation(this.render(), this.#state.project);
  }

  #readable(text: string): string {
    return this.#deps.readable?.(text, this.#state.project ?? defaultProject) ?? text;
  }

  #readableTexts(metadata: Readonly<Record<string, unknown>>): Record<string, unknown> {
    const readable = (value: unknown): unknown => (typeof value === 'string' ? this.#readable(value) : value);
    return Object.fromEntries(Object.entries(metadata).map(([key, value]) => [key, readable(value)]));
  }
}
