// Keeps one host as declared: compares at each event of the server and applies differences under the same guards as `apply`. It pauses
// while the set is locked, outside its windows, and for objects that something keeps changing back.
import type { Client } from '../../../../server/client/client.ts';
import type { Tracer } from '../../../../server/lib/shared/spans.ts';
import { untilOpenMs, type Window } from '../../../core/drift/repair-pace.ts';
import type { Address } from '../../../core/documents/document.ts';
import type { Plan } from '../../../core/plan/plan.ts';
import { describeSeen } from '../../../core/drift/lifecycle-changes.ts';
import { CachedLists } from '../../../engine/observe/cached-reader.ts';
import { CertificateBook } from '../../../engine/observe/certificate-names.ts';
import { watch, type Occasion } from '../../../engine/observe/watch.ts';
import type { Loaded } from '../../../manifest/load-contract.ts';
import type { Context } from '../../session/context.ts';
import { codeOf } from '../../errors/error-outcome.ts';
import { exitCodes, type ExitCode } from '../../errors/exit-codes.ts';
import { LockedError } from '../../../engine/notes/lock.ts';
import { RepairLog } from '../../../engine/runs/repair-log.ts';
import type { RunVerbOptions } from './applying-verbs.ts';
import { retryUntilReachable } from '../../watch/retry-until-reachable.ts';
import { refusalOf } from './refused-parts.ts';
import { planOf, type SetPlan } from '../../session/plan.ts';
import { printPlan } from '../../session/show-plan.ts';
import { hostName } from '../../session/connect.ts';
import { traceRepair, type RepairFacts } from '../../session/trace-verb.ts';
import { setNameOf } from '../../flags/set-name.ts';
import { reportingOnce } from '../../watch/report-once.ts';
import { CliError } from '../../errors/usage-error.ts';
import { pacedIntervalMs, type WatchTimes } from '../../watch/watch-times.ts';
import { resume } from '../../session/resume.ts';
import { carryOut } from './carry-out.ts';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';

export type RunContext = Context<RunVerbOptions>;

/** Waits for valid manifests: someone may still be editing them or checking them out. */
export function firstOf<T>(
  context: RunContext,
  isOnce: boolean,
  end: AbortSignal,
  load: (own: RunContext) => Promise<T>,
): Promise<T> {
  const passes = (error: unknown): boolean => !isOnce && codeOf(error) === exitCodes.error && error instanceof CliError;
  const own = reportingOnce(context);
  return retryUntilReachable(context, () => load(own), { what: 'manifests without errors', passes, end });
}

export interface RunSettings extends WatchTimes {
  readonly windows: readonly Window[];
  /** Gets a trace of each repair. */
  readonly tracer?: Tracer | undefined;
}

export interface KeeperOptions extends RunSettings {
  readonly loaded: Loaded;
  /** Reads the manifests again; absent when the caller passes new ones. */
  readonly read?: (context: RunContext) => Promise<Loaded>;
  /** Called with the outcome of a comparison; not while repairs wait for a window or are paused. */
  readonly onLook?: (loaded: Loaded, code: ExitCode) => void;
}

/** Keeps one host as declared: its last manifests and observations, and its recent repairs. */
export class Keeper {
  readonly #context: RunContext;
  readonly #client: Client;
  readonly #wanted: KeeperOptions;
  readonly #lists: CachedLists;
  readonly #book: CertificateBook;
  #loaded: Loaded;
  #isFirst = true;
  #told = '';
  readonly #repairs = new RepairLog();
  #waitMs: number | undefined;
  /** Processor time of the last full comparison. */
  #lookCpuMs = 0;
  #lookNow = (): void => {};

  constructor(context: RunContext, client: Client, wanted: KeeperOptions) {
    this.#context = reportingOnce(context);
    this.#client = client;
    this.#wanted = wanted;
    this.#loaded = wanted.loaded;
    this.#lists = new CachedLists(client);
    this.#book = new CertificateBook(this.#lists.list);
  }

  /** Runs until `end`. */
  async keep(end: AbortSignal): Promise<void> {
    const client = this.#client;
    const { options } = this.#context;
    await resume(this.#context, client, setNameOf(options, this.#loaded.documents));
    const { project } = options;
    await watch(
      {
        events: (signal, eventOptions) => client.events(['lifecycle'], signal, eventOptions),
        look: (occasion) => this.#measured(occasion),
        onStart: (lookNow) => void (this.#lookNow = lookNow),
        onConnection: (state) => this.#context.note(`The event connection is ${state}`),
        onFailure: (error) => this.#failed(error),
        intervalMs: () => this.#patienceMs(pacedIntervalMs(this.#wanted, this.#lookCpuMs)),
        ...(project === undefined ? {} : { project }),
      },
      end,
    );
  }

  /** Takes new manifests. */
  give(loaded: Loaded): void {
    this.#loaded = loaded;
    this.#lookNow();
  }

  /** Sooner than usual when a repair is pending. */
  #patienceMs(usualMs: number): number {
    return this.#waitMs === undefined ? usualMs : Math.min(usualMs, Math.max(1000, this.#waitMs));
  }

  async #measured(occasion: Occasion): Promise<void> {
    const before = process.cpuUsage();
    await this.#look(occasion);
    const { user, system } = process.cpuUsage(before);
    if (occasion.isWhole) this.#lookCpuMs = (user + system) / 1000;
  }

  async #look({ seen, isWhole }: Occasion): Promise<void> {
    if (isWhole) {
      this.#lists.forget();
      this.#book.forget();
      await this.#readAgain();
    } else await this.#lists.refresh(seen, this.#context.stop);
    this.#isFirst = false;
    this.#waitMs = undefined;
    const reader = Object.assign(Object.create(this.#client) as Client, { list: this.#lists.list });
    const loaded = this.#loaded;
    this.#repairs.declare(loaded.documents);
    const fromMs = Date.now();
    const whole = await planOf(this.#context, reader, loaded, 'apply');
    const resting = this.#repairs.resting(addressesOf(whole.plan), this.#context.io.nowMs());
    const planned = resting.size === 0 ? whole : await this.#without(resting, whole, reader);
    if (planned === undefined) return;
    const { plan } = planned;
    if (plan.steps.length === 0) {
      this.#tell(plan.guards.map(({ message }) => `Refused: ${message}`).join('\n'));
      return this.#wanted.onLook?.(loaded, plan.guards.length > 0 ? exitCodes.guard : exitCodes.ok);
    }
    const refused = refusalOf(this.#context.options, plan);
    if (refused !== undefined) {
      const parts = plan.guards.map(({ message }) => `Refused: ${message}`);
      this.#tell([...parts, refused].join('\n'));
      return this.#wanted.onLook?.(loaded, exitCodes.guard);
    }
    const closedMs = untilOpenMs(this.#wanted.windows, this.#context.io.nowMs());
    if (closedMs > 0) {
      this.#waitMs = closedMs;
      return this.#tell(`${listOf(addressesOf(plan))} differ, but no repair window is open`);
    }
    for (const one of await this.#book.name(seen, this.#context.stop))
      this.#context.note(`${one.address}: ${describeSeen(one)}`);
    const code = await this.#repair(planned, { fromMs, toMs: Date.now() });
    if (resting.size > 0) this.#waitMs = Math.min(...resting.values());
    this.#wanted.onLook?.(loaded, code === exitCodes.ok && plan.guards.length > 0 ? exitCodes.guard : code);
  }

  /**
   * The plan without paused objects: the other objects need not wait for them.
   * Undefined when nothing else differs.
   */
  async #without(resting: ReadonlyMap<Address, number>, whole: SetPlan, reader: Client): Promise<SetPlan | undefined> {
    this.#waitMs = Math.min(...resting.values());
    const addresses = addressesOf(whole.plan);
    const times = Math.max(...[...resting.keys()].map((address) => this.#repairs.count(address)));
    this.#tell(
      `${listOf([...resting.keys()])} differ, but something keeps changing them back: repaired ${times} times, retrying later`,
    );
    if (resting.size === addresses.length) return undefined;
    const exclude = [...(this.#context.options.exclude ?? []), ...resting.keys()];
    const own = { ...this.#context, options: { ...this.#context.options, exclude } };
    const planned = await planOf(own, reader, this.#loaded, 'apply');
    const isNew = addressesOf(planned.plan).some((address) => this.#repairs.isNew(address));
    const { revision: _revision, ...unnoted } = planned;
    return isNew ? planned : unnoted;
  }

  async #repair(planned: SetPlan, times: Pick<RepairFacts, 'fromMs' | 'toMs'>): Promise<ExitCode> {
    this.#told = '';
    await printPlan(this.#context, planned.plan, 'apply');
    const { revision } = planned;
    const quiet = revision === undefined ? planned : { ...planned, revision: { ...revision, onlyNew: true } };
    this.#lists.forget();
    // Its own changes need no events to become known.
    const facts = { ...times, set: planned.owner.set, host: hostName(this.#context, this.#client) };
    const code = await traceRepair(this.#wanted.tracer, facts, () => carryOut(this.#context, this.#client, quiet));
    this.#repairs.note(addressesOf(planned.plan), this.#context.io.nowMs());
    if (code !== exitCodes.ok) this.#waitMs = 5000;
    return code;
  }

  /** Manifests may be invalid while someone edits them: then the last good ones stay in force. */
  async #readAgain(): Promise<void> {
    const { read } = this.#wanted;
    if (this.#isFirst || read === undefined) return;
    try {
      this.#loaded = await read(this.#context);
    } catch (error) {
      this.#context.stop.throwIfAborted();
      const why = reasonOf(error);
      this.#tell(`Cannot read the manifests, so the last good ones stay in force: ${why}`);
    }
  }

  #failed(error: unknown): void {
    this.#wanted.onLook?.(this.#loaded, codeOf(error));
    const isHeld = error instanceof CliError && error.cause instanceof LockedError;
    this.#tell(isHeld ? `Suspended: ${reasonOf(error.cause)}` : `The run failed and is retried: ${reasonOf(error)}`);
  }

  /** Prints a text once, until there is another one. */
  #tell(text: string): void {
    if (text !== '' && text !== this.#told) this.#context.note(text);
    this.#told = text;
  }
}

const addressesOf = ({ steps }: Plan): readonly Address[] => [...new Set(steps.map(({ address }) => address))];

const listOf = (addresses: readonly Address[]): string =>
  `${addresses.slice(0, 5).join(', ')}${addresses.length > 5 ? ' and others' : ''}`;
