// `gantry run`: keeps a host as its manifests say. Looks whenever the server tells of a change, applies what differs under the same
// guards as `apply`, and leaves things alone while the set is locked, outside its windows, and against somebody who keeps changing them.
import type { Client } from '../../../server/client/client.ts';
import type { Diagnostic } from '../../core/diagnostic.ts';
import { parseWindow, restMs, untilOpenMs, type Window } from '../../core/heal-pace.ts';
import { describeSeen } from '../../core/seen.ts';
import { CachedLists } from '../../engine/cached-reader.ts';
import { watch, type Occasion } from '../../engine/watch.ts';
import type { Loaded } from '../../manifest/types.ts';
import type { OpenContext } from '../context.ts';
import { exitCodes, type ExitCode } from '../exit-codes.ts';
import { isApproved, parseCount, parseDuration, type CliOptions } from '../options.ts';
import { messageOf } from '../revision.ts';
import { loadSet, planOf, printPlan, withClient, type Planned } from '../session.ts';
import { setNameOf } from '../set-name.ts';
import { CliError, usageError } from '../usage-error.ts';
import { carryOut, resume } from './apply.ts';

export interface RunOptions extends CliOptions {
  readonly interval?: string;
  readonly for?: string;
  readonly window?: readonly string[];
}

const defaultIntervalMs = 60_000;

export async function run(context: OpenContext, args: readonly string[], options: RunOptions): Promise<ExitCode> {
  if (!isApproved(options))
    throw usageError('run applies what differs without asking: approve that with --auto-approve');
  messageOf(context);
  parseCount('--parallelism', options.parallelism);
  const intervalMs = parseDuration('--interval', options.interval) ?? defaultIntervalMs;
  if (intervalMs < 1000)
    throw usageError('--interval is at least 1s: between two looks events tell of changes at once');
  const limitMs = parseDuration('--for', options.for);
  const windows = (options.window ?? []).map(windowOf);
  const loaded = await loadSet(context, args);
  return withClient(context, async (client) => {
    await resume(context, client, setNameOf(options, loaded.documents));
    const keeper = new Keeper(context, client, { args, windows, loaded });
    const end = limitMs === undefined ? [] : [AbortSignal.timeout(limitMs)];
    const { project } = options;
    await watch(
      {
        events: (signal, eventOptions) => client.events(['lifecycle'], signal, eventOptions),
        look: (occasion) => keeper.look(occasion),
        onConnection: (state) =>
          context.note(state === 'lost' ? 'The connection for events is lost' : 'The connection for events is back'),
        onFailure: (error) => keeper.failed(error),
        intervalMs: () => keeper.patienceMs(intervalMs),
        ...(project === undefined ? {} : { project }),
      },
      AbortSignal.any([context.stop, ...end]),
    );
    // Being told to end is how it ends.
    return exitCodes.ok;
  });
}

function windowOf(text: string): Window {
  const window = parseWindow(text);
  if (window === undefined)
    throw usageError(`--window ${JSON.stringify(text)} is no time of the day (UTC) such as 22:00-06:00`);
  return window;
}

interface Wanted {
  readonly args: readonly string[];
  readonly windows: readonly Window[];
  readonly loaded: Loaded;
}

/** Of one run: what it looked at last, and how often it had to put something right. */
class Keeper {
  readonly #context: OpenContext;
  readonly #client: Client;
  readonly #wanted: Wanted;
  readonly #lists: CachedLists;
  #loaded: Loaded;
  #isFirst = true;
  #told = '';
  #diagnostics = '';
  #heals: number[] = [];
  #waitMs: number | undefined;

  constructor(context: OpenContext, client: Client, wanted: Wanted) {
    this.#context = Object.assign(Object.create(context) as OpenContext, {
      diagnostics: (found: readonly Diagnostic[]) => this.#diagnosed(context, found),
    });
    this.#client = client;
    this.#wanted = wanted;
    this.#loaded = wanted.loaded;
    this.#lists = new CachedLists(client);
  }

  /** Sooner than usual when something waits to be put right. */
  patienceMs(usualMs: number): number {
    return this.#waitMs === undefined ? usualMs : Math.min(usualMs, Math.max(1000, this.#waitMs));
  }

  async look({ seen, isWhole }: Occasion): Promise<void> {
    if (isWhole) {
      this.#lists.forget();
      await this.#readAgain();
    } else await this.#lists.refresh(seen, this.#context.stop);
    this.#isFirst = false;
    this.#waitMs = undefined;
    const reader = Object.assign(Object.create(this.#client) as Client, { list: this.#lists.list });
    const planned = await planOf(this.#context, reader, this.#loaded, 'apply');
    const { plan } = planned;
    if (plan.steps.length === 0) return this.#tell(plan.guards.map(({ message }) => `Refused: ${message}`).join('\n'));
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
    await this.#heal(planned);
  }

  async #heal(planned: Planned): Promise<void> {
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
  }

  /** Manifests that are being worked on may be wrong for a while: the last good ones count. */
  async #readAgain(): Promise<void> {
    if (this.#isFirst || this.#wanted.args.includes('-')) return;
    try {
      this.#loaded = await loadSet(this.#context, this.#wanted.args);
    } catch (error) {
      this.#context.stop.throwIfAborted();
      const why = error instanceof Error ? error.message : String(error);
      this.#tell(`The manifests cannot be read now, so those read before still count: ${why}`);
    }
  }

  failed(error: unknown): void {
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

  async #diagnosed(context: OpenContext, found: readonly Diagnostic[]): Promise<void> {
    const text = JSON.stringify(found);
    if (found.length === 0 || text === this.#diagnostics) return;
    this.#diagnostics = text;
    await context.diagnostics(found);
  }
}
