// `gantry run`: keeps a host as its manifests say. Looks whenever the server tells of a change, applies what differs under the same
// guards as `apply`, and leaves things alone while the set is locked, outside its windows, and against somebody who keeps changing them.
import type { Client } from '../../../server/client/client.ts';
import { parseWindow, restMs, untilOpenMs, type Window } from '../../core/heal-pace.ts';
import { describeSeen } from '../../core/seen.ts';
import { CachedLists } from '../../engine/cached-reader.ts';
import { watch, type Occasion } from '../../engine/watch.ts';
import type { Loaded } from '../../manifest/types.ts';
import type { OpenContext } from '../context.ts';
import { codeOf } from '../error-outcome.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import { isApproved, parseCount, type CliOptions } from '../options.ts';
import { whyRefused } from '../refused.ts';
import { messageOf } from '../revision.ts';
import { loadSet, planOf, printPlan, withClient, type Planned } from '../session.ts';
import { setNameOf } from '../set-name.ts';
import { toldOnce } from '../told-once.ts';
import { CliError, usageError } from '../usage-error.ts';
import { endOf, timesOf, type WatchTimes } from '../watch-times.ts';
import { carryOut, resume } from './apply.ts';

export interface RunOptions extends CliOptions {
  readonly interval?: string;
  readonly for?: string;
  readonly window?: readonly string[];
}

const defaultIntervalMs = 60_000;

export async function run(context: OpenContext, args: readonly string[], options: RunOptions): Promise<ExitCode> {
  const settings = runSettings(context, options);
  const loaded = await loadSet(context, args);
  // Those of stdin cannot be read again.
  const read = args.includes('-') ? {} : { read: (own: OpenContext) => loadSet(own, args) };
  await withClient(context, async (client) => {
    const keeper = new Keeper(context, client, { ...settings, ...read, loaded });
    await keeper.keep(endOf(context, settings.limitMs));
  });
  // Being told to end is how it ends.
  return exitCodes.ok;
}

export interface RunSettings extends WatchTimes {
  readonly windows: readonly Window[];
}

/** Wrong flags are told before anything is read. */
export function runSettings(context: OpenContext, options: RunOptions): RunSettings {
  if (!isApproved(options))
    throw usageError('run applies what differs without asking: approve that with --auto-approve');
  messageOf(context);
  parseCount('--parallelism', options.parallelism);
  return { ...timesOf(options, defaultIntervalMs), windows: (options.window ?? []).map(windowOf) };
}

function windowOf(text: string): Window {
  const window = parseWindow(text);
  if (window === undefined)
    throw usageError(`--window ${JSON.stringify(text)} is no time of the day (UTC) such as 22:00-06:00`);
  return window;
}

export interface Kept extends RunSettings {
  readonly loaded: Loaded;
  /** Reads the manifests again; absent when somebody else gives them. */
  readonly read?: (context: OpenContext) => Promise<Loaded>;
  /** Told what a look at these manifests came to; not while it waits for a window or for somebody's patience. */
  readonly onLook?: (loaded: Loaded, code: ExitCode) => void;
}

/** Of one host: what it looked at last, and how often it had to put something right. */
export class Keeper {
  readonly #context: OpenContext;
  readonly #client: Client;
  readonly #wanted: Kept;
  readonly #lists: CachedLists;
  #loaded: Loaded;
  #isFirst = true;
  #told = '';
  #heals: number[] = [];
  #waitMs: number | undefined;
  #lookNow = (): void => {};

  constructor(context: OpenContext, client: Client, wanted: Kept) {
    this.#context = toldOnce(context);
    this.#client = client;
    this.#wanted = wanted;
    this.#loaded = wanted.loaded;
    this.#lists = new CachedLists(client);
  }

  /** Until `end`. */
  async keep(end: AbortSignal): Promise<void> {
    const client = this.#client;
    const { options } = this.#context;
    await resume(this.#context, client, setNameOf(options, this.#loaded.documents));
    const { project } = options;
    await watch(
      {
        events: (signal, eventOptions) => client.events(['lifecycle'], signal, eventOptions),
        look: (occasion) => this.#look(occasion),
        onStart: (lookNow) => void (this.#lookNow = lookNow),
        onConnection: (state) => this.#context.note(`The connection for events is ${state}`),
        onFailure: (error) => this.#failed(error),
        intervalMs: () => this.#patienceMs(this.#wanted.intervalMs),
        ...(project === undefined ? {} : { project }),
      },
      end,
    );
  }

  /** What is declared from now on. */
  give(loaded: Loaded): void {
    this.#loaded = loaded;
    this.#lookNow();
  }

  /** Sooner than usual when something waits to be put right. */
  #patienceMs(usualMs: number): number {
    return this.#waitMs === undefined ? usualMs : Math.min(usualMs, Math.max(1000, this.#waitMs));
  }

  async #look({ seen, isWhole }: Occasion): Promise<void> {
    if (isWhole) {
      this.#lists.forget();
      await this.#readAgain();
    } else await this.#lists.refresh(seen, this.#context.stop);
    this.#isFirst = false;
    this.#waitMs = undefined;
    const reader = Object.assign(Object.create(this.#client) as Client, { list: this.#lists.list });
    const loaded = this.#loaded;
    const planned = await planOf(this.#context, reader, loaded, 'apply');
    const { plan } = planned;
    if (plan.steps.length === 0) {
      this.#tell(plan.guards.map(({ message }) => `Refused: ${message}`).join('\n'));
      return this.#wanted.onLook?.(loaded, plan.guards.length > 0 ? exitCodes.guard : exitCodes.ok);
    }
    const refused = whyRefused(this.#context.options, plan);
    if (refused !== undefined) {
      const parts = plan.guards.map(({ message }) => `Refused: ${message}`);
      this.#tell([...parts, refused].join('\n'));
      return this.#wanted.onLook?.(loaded, exitCodes.guard);
    }
    const nowMs = this.#context.io.nowMs();
    const closedMs = untilOpenMs(this.#wanted.windows, nowMs);
    const tiredMs = restMs(this.#heals, nowMs);
    this.#waitMs = Math.max(closedMs, tiredMs);
    if (this.#waitMs > 0) {
      const addresses = [...new Set(plan.steps.map(({ address }) => address))];
      const list = `${addresses.slice(0, 5).join(', ')}${addresses.length > 5 ? ' and others' : ''}`;
      const why =
        closedMs >= tiredMs
          ? 'no window is open'
          : `something keeps changing it: ${this.#heals.length} times put right by now`;
      return this.#tell(`${list} differ, and are left alone for now: ${why}`);
    }
    this.#waitMs = undefined;
    for (const one of seen) this.#context.note(`${one.address}: ${describeSeen(one)}`);
    const code = await this.#heal(planned);
    this.#wanted.onLook?.(loaded, code === exitCodes.ok && plan.guards.length > 0 ? exitCodes.guard : code);
  }

  async #heal(planned: Planned): Promise<ExitCode> {
    this.#told = '';
    await printPlan(this.#context, planned.plan, 'apply');
    const { revision } = planned;
    const quiet = revision === undefined ? planned : { ...planned, revision: { ...revision, onlyNew: true } };
    this.#lists.forget();
    // What it does itself is known at once, not by its events.
    const code = await carryOut(this.#context, this.#client, quiet);
    const nowMs = this.#context.io.nowMs();
    this.#heals = [...this.#heals, nowMs].slice(-20);
    if (code !== exitCodes.ok) this.#waitMs = 5000;
    return code;
  }

  /** Manifests that are being worked on may be wrong for a while: the last good ones count. */
  async #readAgain(): Promise<void> {
    const { read } = this.#wanted;
    if (this.#isFirst || read === undefined) return;
    try {
      this.#loaded = await read(this.#context);
    } catch (error) {
      this.#context.stop.throwIfAborted();
      const why = error instanceof Error ? error.message : String(error);
      this.#tell(`The manifests cannot be read now, so those read before still count: ${why}`);
    }
  }

  #failed(error: unknown): void {
    this.#wanted.onLook?.(this.#loaded, codeOf(error));
    const text = error instanceof Error ? error.message : String(error);
    const isHeld = error instanceof CliError && error.exitCode === exitCodes.locked;
    this.#tell(
      isHeld ? `Suspended: ${text.split(': wait with', 1)[0] ?? text}` : `That failed and is tried again: ${text}`,
    );
  }

  /** Once, until something else is to be told. */
  #tell(text: string): void {
    if (text !== '' && text !== this.#told) this.#context.note(text);
    this.#told = text;
  }
}
