// Runs background operations: starts them, notifies listeners of every step, keeps ended ones readable for a while.
import { randomUUID } from 'node:crypto';
import { errors } from '../api/errors.ts';
import type { Operation, OperationClass } from '../api/operation.ts';
import { isFinal, statusCodes } from '../api/status.ts';
import type { EventHub } from '../events/hub.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import { errorText } from '../lib/shared/reason.ts';
import type { EventLoopMonitor } from '../lib/event-loop-monitor.ts';
import type { Admission, ChannelSet } from './channels.ts';
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
  /** The work can be stopped by aborting its signal. */
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

interface Running {
  state: OperationState;
  readonly abort: AbortController;
  readonly waiters: Set<() => void>;
  readonly channels: ChannelSet | undefined;
  readonly endsWithDaemon: boolean;
  /** Where its trace continues; absent: not traced. */
  span?: SpanPlace;
  /** Fingerprint of the client certificate that started it. */
  owner?: string;
}

/** How long ended operations stay readable (LXD: 5 s). */
const retentionMs = 5000;

export interface OperationsDeps {
  readonly clock: Clock;
  readonly events: EventHub;
  readonly log: Log;
  /** Receives running operations. */
  readonly loop?: Pick<EventLoopMonitor, 'enter'>;
  /** Makes a text readable for users of this project. */
  readonly readable?: (text: string, project: string) => string;
  /** This daemon's place in its cluster; default: none. */
  readonly place?: OperationPlace;
}

export interface OperationPlace {
  /** Name of this member. */
  readonly ownName: string;
  /** The operation id for an operation of this member, from a random one. */
  operationId(random: string): string;
  /** Resolves when other members can see what the operation did to these objects, by URL, and to the objects of emitted events. */
  awaitVisible(urls: readonly string[]): Promise<void>;
}

const alone: OperationPlace = {
  ownName: 'none',
  operationId: (random) => random,
  awaitVisible: () => Promise.resolve(),
};

const urlsOf = ({ state }: { readonly state: OperationState }): readonly string[] =>
  Object.values(state.resources).flat();

export class Operations {
  readonly #running = new Map<string, Running>();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #deps: OperationsDeps;
  readonly #place: OperationPlace;
  #closing = false;

  constructor(deps: OperationsDeps) {
    this.#deps = deps;
    this.#place = deps.place ?? alone;
  }

  /** Starts the work at once; the returned object shows it Running. */
  start(request: OperationRequest): Operation {
    if (this.#closing) throw errors.unavailable('The daemon is stopping and starts no new operation');
    const now = this.#deps.clock.timestamp();
    const operation: Running = {
      state: {
        id: this.#place.operationId(randomUUID()),
        class: request.class ?? 'task',
        description: request.description,
        createdAt: now,
        updatedAt: now,
        statusCode: statusCodes.pending,
        resources: request.resources,
        project: request.project ?? projectOfUrl(Object.values(request.resources).flat()[0] ?? ''),
        metadata: request.metadata ?? null,
        mayCancel: request.mayCancel ?? false,
        location: this.#place.ownName,
        err: '',
      },
      abort: new AbortController(),
      waiters: new Set(),
      channels: request.channels,
      endsWithDaemon: request.endsWithDaemon ?? false,
    };
    this.#running.set(operation.state.id, operation);
    this.#publish(operation);
    this.#step(operation, 'start');
    void this.#run(operation, request);
    return renderOperation(operation.state);
  }

  /** `project`: finds only its operations, and those without a project. */
  get(id: string, project?: string): Operation {
    return renderOperation(this.#find(id, project).state);
  }

  has(id: string): boolean {
    return this.#running.has(id);
  }

  /** How many operations of the project run. */
  countOpen(project: string): number {
    let count = 0;
    for (const { state } of this.#running.values())
      if (state.project === project && !isFinal(state.statusCode)) count += 1;
    return count;
  }

  /** The project of each running operation; undefined: no project. */
  projectsUnderWay(): readonly (string | undefined)[] {
    const open = [...this.#running.values()].filter(({ state }) => !isFinal(state.statusCode));
    return open.map(({ state }) => state.project);
  }

  /** Oldest first. With a project: its operations, and those without one. */
  list(project?: string): readonly Operation[] {
    return [...this.#running.values()]
      .filter(({ state }) => isIn(state, project))
      .map((operation) => renderOperation(operation.state));
  }

  /** Admits a client to the channel with this secret. Throws notFound, forbidden, or badRequest if there is no such channel (any more). */
  admit(id: string, secret: string, project?: string): Admission {
    const { channels, state } = this.#find(id, project);
    if (channels === undefined) throw errors.badRequest(`The operation ${id} (${state.description}) has no websocket`);
    const admission = channels.admit(secret);
    if (isFinal(state.statusCode)) throw errors.badRequest(`The operation ${id} (${state.description}) has ended`);
    return admission;
  }

  /** URLs of its objects, and the certificate that started it. Undefined: no such operation. */
  about(id: string): { readonly urls: readonly string[]; readonly owner?: string } | undefined {
    const operation = this.#running.get(id);
    if (operation === undefined) return undefined;
    const urls = urlsOf(operation);
    return { urls, ...(operation.owner === undefined ? {} : { owner: operation.owner }) };
  }

  /** The span of the operation; undefined when it has none. */
  spanOf(id: string): SpanPlace | undefined {
    return this.#running.get(id)?.span;
  }

  cancel(id: string, project?: string): void {
    const operation = this.#find(id, project);
    if (isFinal(operation.state.statusCode)) throw errors.notCancellable(`The operation ${id} has already ended`);
    if (!operation.state.mayCancel) throw errors.notCancellable(`The operation ${id} cannot be cancelled`);
    if (operation.state.statusCode === statusCodes.cancelling) return;
    this.#step(operation, 'cancel');
    operation.abort.abort(new Error('cancelled by request'));
  }

  /** The operation once it has ended, or as it is at the timeout (undefined: none) or when `signal` aborts. */
  async wait(id: string, timeoutMs: number | undefined, signal?: AbortSignal, project?: string): Promise<Operation> {
    const operation = this.#find(id, project);
    if (!isFinal(operation.state.statusCode) && timeoutMs !== 0) await this.#ended(operation, timeoutMs, signal);
    return renderOperation(operation.state);
  }

  /** Records that the client with this certificate, or this user, started it. */
  claim(id: string, started: string): void {
    const operation = this.#running.get(id);
    if (operation !== undefined) operation.owner = started;
  }

  /** Trust in the certificate or user has ended: aborts the operations it started where they can end early, and kills commands. A change of
   *  the host in a few steps is completed: half of it would be worse. */
  revoke(started: string, why = 'the certificate of the client that started it is no longer trusted'): void {
    for (const { state, abort, owner, endsWithDaemon } of this.#running.values()) {
      if (owner !== started || isFinal(state.statusCode)) continue;
      if (!state.mayCancel && !endsWithDaemon) continue;
      abort.abort(new Error(why));
    }
  }

  /** Refuses new work, aborts what can be cancelled and waits at most `graceMs` for the rest. */
  async close(graceMs: number): Promise<void> {
    this.#closing = true;
    const open = [...this.#running.values()].filter((operation) => !isFinal(operation.state.statusCode));
    for (const operation of open) {
      if (operation.state.mayCancel || operation.endsWithDaemon)
        operation.abort.abort(new Error('the daemon is stopping'));
    }
    await Promise.all(open.map((operation) => this.#ended(operation, graceMs)));
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  #find(id: string, project?: string): Running {
    const operation = this.#running.get(id);
    if (operation === undefined || !isIn(operation.state, project)) throw errors.notFound('operation', id);
    return operation;
  }

  async #run(operation: Running, request: OperationRequest): Promise<void> {
    const handle: OperationHandle = {
      id: operation.state.id,
      update: (metadata) => {
        if (isFinal(operation.state.statusCode)) return;
        this.#set(operation, {
          metadata: { ...operation.state.metadata, ...this.#readableTexts(operation, metadata) },
        });
        this.#publish(operation);
      },
    };
    const leave = this.#deps.loop?.enter(() => `operation ${request.description}`);
    const { id, class: kind } = operation.state;
    const attributes = { 'gantry.operation': id, 'gantry.operation.class': kind };
    try {
      const metadata = await inSpan(`operation: ${request.description}`, { attributes }, (span) => {
        if (span !== undefined) operation.span = span.place;
        return request.run(handle, operation.abort.signal);
      });
      if (metadata !== undefined) this.#set(operation, { metadata: { ...operation.state.metadata, ...metadata } });
      await this.#place.awaitVisible(urlsOf(operation));
      this.#step(operation, 'succeed');
    } catch (error) {
      await this.#place.awaitVisible(urlsOf(operation));
      this.#fail(operation, error);
    } finally {
      leave?.();
    }
    operation.channels?.close();
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#running.delete(operation.state.id);
    }, retentionMs);
    timer.unref();
    this.#timers.add(timer);
  }

  #fail(operation: Running, error: unknown): void {
    const { id, description, statusCode } = operation.state;
    if (statusCode === statusCodes.cancelling) {
      this.#set(operation, { err: this.#readable(operation, errorText(error)) });
      this.#step(operation, 'cancelled');
      return;
    }
    this.#deps.log.warn(`Operation failed: ${description}: ${errorText(error)}`, { operation: id });
    operation.state = { ...operation.state, err: this.#readable(operation, errorText(error)) };
    this.#step(operation, 'fail');
  }

  #step(operation: Running, transition: Transition): void {
    const next = nextStatus(operation.state.statusCode, transition);
    if (next === undefined) return;
    operation.state = { ...operation.state, statusCode: next, ...(isFinal(next) ? { mayCancel: false } : {}) };
    this.#publish(operation);
    if (isFinal(next)) for (const wake of operation.waiters) wake();
  }

  #set(operation: Running, change: Partial<OperationState>): void {
    operation.state = { ...operation.state, ...change, updatedAt: this.#deps.clock.timestamp() };
  }

  #publish(operation: Running): void {
    if (this.#deps.events.listenerCount > 0)
      this.#deps.events.operation(renderOperation(operation.state), operation.state.project);
  }

  #readable({ state }: Running, text: string): string {
    return this.#deps.readable?.(text, state.project ?? defaultProject) ?? text;
  }

  #readableTexts(operation: Running, metadata: Readonly<Record<string, unknown>>): Record<string, unknown> {
    return Object.fromEntries(
      Object.entries(metadata).map(([key, value]) => [
        key,
        typeof value === 'string' ? this.#readable(operation, value) : value,
      ]),
    );
  }

  async #ended(operation: Running, timeoutMs: number | undefined, signal?: AbortSignal): Promise<void> {
    if (isFinal(operation.state.statusCode) || signal?.aborted === true) return;
    await new Promise<void>((resolve) => {
      const timer = timeoutMs === undefined ? undefined : setTimeout(wake, Math.min(timeoutMs, 2 ** 31 - 1));
      function wake(): void {
        clearTimeout(timer);
        operation.waiters.delete(wake);
        signal?.removeEventListener('abort', wake);
        resolve();
      }
      operation.waiters.add(wake);
      signal?.addEventListener('abort', wake, { once: true });
    });
  }
}

/** Every project shows operations without a project. */
const isIn = ({ project }: OperationState, wanted: string | undefined): boolean =>
  wanted === undefined || project === undefined || project === wanted;
