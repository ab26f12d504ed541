// Runs background operations: starts them, notifies listeners of every step, keeps ended ones readable for a while.
import { errors } from '../api/errors.ts';
import type { Operation } from '../api/operation.ts';
import { statusCodes } from '../api/status.ts';
import type { Admission } from './channels.ts';
import type { SpanPlace } from '../lib/shared/traceparent.ts';
import type { OperationState } from './operation.ts';

import {
  RunningOperation,
  type OperationDeps,
  type OperationPlace,
  type OperationRequest,
} from './running-operation.ts';
import { withoutUndefined } from '../lib/shared/without-undefined.ts';

/** How long ended operations stay readable (LXD: 5 s). */
const retentionMs = 5000;

export interface OperationsDeps extends Omit<OperationDeps, 'place'> {
  /** This daemon's place in its cluster; default: none. */
  readonly place?: OperationPlace;
}

const alone: OperationPlace = {
  ownName: 'none',
  operationId: (random) => random,
  awaitVisible: () => Promise.resolve(),
};

export class Operations {
  readonly #running = new Map<string, RunningOperation>();
  readonly #timers = new Set<NodeJS.Timeout>();
  readonly #deps: OperationDeps;
  #closing = false;

  constructor(deps: OperationsDeps) {
    this.#deps = { ...deps, place: deps.place ?? alone };
  }

  /** Starts the work at once; the returned object shows it Running. */
  start(request: OperationRequest): Operation {
    if (this.#closing) throw errors.unavailable('The daemon is stopping and starts no new operation');
    const operation = new RunningOperation(request, this.#deps);
    this.#running.set(operation.state.id, operation);
    void this.#run(operation);
    return operation.render();
  }

  /** `project`: finds only its operations, and those without a project. */
  get(id: string, project?: string): Operation {
    return this.#find(id, project).render();
  }

  has(id: string): boolean {
    return this.#running.has(id);
  }

  countOpen(project: string): number {
    let count = 0;
    for (const { state, hasEnded } of this.#running.values()) if (state.project === project && !hasEnded) count += 1;
    return count;
  }

  /** The project of each running operation; undefined: no project. */
  projectsUnderWay(): readonly (string | undefined)[] {
    return this.#open().map(({ state }) => state.project);
  }

  /** Oldest first. With a project: its operations, and those without one. */
  list(project?: string): readonly Operation[] {
    return [...this.#running.values()]
      .filter(({ state }) => isIn(state, project))
      .map((operation) => operation.render());
  }

  /** Admits a client to the channel with this secret. Throws notFound, forbidden, or badRequest if there is no such channel (any more).
   *  A short command succeeds before a client has connected every channel: the last one opens then, and closes at once. */
  admit(id: string, secret: string, project?: string): Admission {
    const { channels, state, hasEnded } = this.#find(id, project);
    if (channels === undefined) throw errors.badRequest(`The operation ${id} (${state.description}) has no websocket`);
    const admission = channels.admit(secret);
    if (hasEnded && state.statusCode !== statusCodes.success)
      throw errors.badRequest(`The operation ${id} (${state.description}) has ended`);
    return admission;
  }

  /** URLs of its objects, and the certificate that started it. Undefined: no such operation. */
  about(id: string): { readonly urls: readonly string[]; readonly owner?: string } | undefined {
    const operation = this.#running.get(id);
    if (operation === undefined) return undefined;
    const { urls, owner } = operation;
    return { urls, ...withoutUndefined({ owner }) };
  }

  spanOf(id: string): SpanPlace | undefined {
    return this.#running.get(id)?.span;
  }

  cancel(id: string, project?: string): void {
    this.#find(id, project).cancel();
  }

  /** The operation once it has ended, or as it is at the timeout (undefined: none) or when `signal` aborts. */
  async wait(id: string, timeoutMs: number | undefined, signal?: AbortSignal, project?: string): Promise<Operation> {
    const operation = this.#find(id, project);
    await operation.ended(timeoutMs, signal);
    return operation.render();
  }

  /** Records that the client with this certificate, or this user, started it. */
  claim(id: string, started: string): void {
    const operation = this.#running.get(id);
    if (operation !== undefined) operation.owner = started;
  }

  /** Trust in the certificate or user has ended: aborts the operations it started where they can end early, and kills commands. */
  revoke(started: string, why = 'the certificate of the client that started it is no longer trusted'): void {
    for (const operation of this.#running.values()) if (operation.owner === started) operation.endEarly(why);
  }

  /** Refuses new work, aborts what can be cancelled and waits at most `graceMs` for the rest. */
  async close(graceMs: number): Promise<void> {
    this.#closing = true;
    const open = this.#open();
    for (const operation of open) operation.endEarly('the daemon is stopping');
    await Promise.all(open.map((operation) => operation.ended(graceMs)));
    for (const timer of this.#timers) clearTimeout(timer);
    this.#timers.clear();
  }

  #open(): readonly RunningOperation[] {
    return [...this.#running.values()].filter(({ hasEnded }) => !hasEnded);
  }

  #find(id: string, project?: string): RunningOperation {
    const operation = this.#running.get(id);
    if (operation === undefined || !isIn(operation.state, project)) throw errors.notFound('operation', id);
    return operation;
  }

  async #run(operation: RunningOperation): Promise<void> {
    await operation.run();
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      this.#running.delete(operation.state.id);
    }, retentionMs);
    timer.unref();
    this.#timers.add(timer);
  }
}

/** Every project shows operations without a project. */
const isIn = ({ project }: OperationState, wanted: string | undefined): boolean =>
  wanted === undefined || project === undefined || project === wanted;
