// `gantry run --hosts`: makes the hosts match the manifests batch by batch, then keeps each as declared. New manifests are rolled out
// the same way: no batch starts while a host of an earlier one fails, unless --keep-going.
import { pause } from '../../../../server/lib/shared/deadline.ts';
import type { Loaded } from '../../../manifest/load-contract.ts';
import type { RunVerbOptions } from './applying-verbs.ts';
import { firstOf, Keeper, type RunSettings } from './keeper.ts';
import type { Fleet, Context } from '../../session/context.ts';
import { messageOf } from '../../errors/error-outcome.ts';
import { exitCodes, type ExitCode } from '../../errors/exit-codes.ts';
import { jsonLine } from '../../output/render-json.ts';
import { reportingOnce } from '../../watch/report-once.ts';
import { endOf } from '../../watch/watch-times.ts';
import { batchesOf } from '../../hosts/batches.ts';
import { worstCode, outcomeWord } from '../../hosts/each-host.ts';
import { stayingContext } from '../../hosts/host-context.ts';
import { loadHosts, type LoadedHost } from '../../hosts/load-hosts.ts';
import { checkRolloutFlags, noteBatch } from './rollout.ts';
import { keepConnected } from '../../hosts/keep-connected.ts';

export async function runOnHosts(
  context: RunContext,
  fleet: Fleet,
  args: readonly string[],
  settings: RunSettings,
): Promise<ExitCode> {
  checkRolloutFlags(context);
  const end = endOf(context, settings.limitMs);
  const loaded = await firstOf(context, args.includes('-'), end, (own) => loadHosts(own, fleet, args));
  const quiet = reportingOnce(context);
  const read = args.includes('-') ? undefined : () => loadHosts(quiet, fleet, args);
  return new FleetRun(context, settings, end).keep(loaded, read);
}

type RunContext = Context<RunVerbOptions>;
type RunHost = LoadedHost<RunVerbOptions>;

/** The hosts of one command, each with its current manifests. */
class FleetRun {
  readonly #context: RunContext;
  readonly #settings: RunSettings;
  readonly #end: AbortSignal;
  readonly #hosts = new Map<string, HostRun>();
  #changed = (): void => {};

  constructor(context: RunContext, settings: RunSettings, end: AbortSignal) {
    this.#context = context;
    this.#settings = settings;
    this.#end = end;
  }

  /** `read` reads the current manifests. */
  async keep(first: readonly RunHost[], read: (() => Promise<readonly RunHost[]>) | undefined): Promise<ExitCode> {
    let loaded: readonly RunHost[] | undefined = first;
    while (loaded !== undefined) {
      const overtaken = new AbortController();
      const rolling = this.#rollOut(loaded, AbortSignal.any([this.#end, overtaken.signal]));
      loaded = await this.#nextOf(loaded, read);
      overtaken.abort();
      await rolling;
    }
    const hosts = [...this.#hosts.values()];
    await Promise.all(hosts.map(({ ended }) => ended));
    // An interruption is the normal end; a host that failed at that time decides the exit code.
    return worstCode(hosts.map(({ code = exitCodes.ok }) => code));
  }

  /** Resolves when the manifests of a host changed, or with undefined at the end. */
  async #nextOf(
    before: readonly RunHost[],
    read: (() => Promise<readonly RunHost[]>) | undefined,
  ): Promise<readonly RunHost[] | undefined> {
    let told = '';
    const texts = before.map(textOf);
    while (!this.#end.aborted) {
      await pause(this.#settings.intervalMs, this.#end).catch(() => undefined);
      if (this.#end.aborted || read === undefined) continue;
      try {
        const now = await read();
        if (now.some((one, index) => textOf(one) !== texts[index])) return await stableReading(now, read);
        told = '';
      } catch (error) {
        if (this.#end.aborted) break;
        const text = `Cannot read the manifests, so the last good ones stay in force: ${messageOf(error)}`;
        if (text !== told) this.#context.note(text);
        told = text;
      }
    }
    return undefined;
  }

  async #rollOut(loaded: readonly RunHost[], signal: AbortSignal): Promise<void> {
    const { options } = this.#context;
    const other = loaded.filter((one) => this.#hosts.get(one.host.name)?.text !== textOf(one));
    const named = other.map((one) => ({ ...one, name: one.host.name }));
    const batches = batchesOf(
      options,
      named,
      loaded.map(({ host }) => host.name),
    );
    signal.addEventListener('abort', () => this.#changed(), { once: true });
    for (const [index, batch] of batches.entries()) {
      if (signal.aborted) return;
      noteBatch(this.#context, batch, index, batches.length);
      const hosts = batch.hosts.map((one) => this.#hostRunOf(one));
      for (const [at, host] of hosts.entries()) host.give(batch.hosts[at]);
      const later = batches.slice(index + 1).flatMap(({ hosts }) => hosts.map(({ name }) => name));
      await this.#batchDone(hosts, later, signal);
    }
  }

  /** Waits until all hosts succeeded, or with --keep-going until all were tried. */
  async #batchDone(hosts: readonly HostRun[], later: readonly string[], signal: AbortSignal): Promise<void> {
    let told = '';
    while (!signal.aborted) {
      const change = new Promise<void>((resolve) => (this.#changed = resolve));
      const bad = hosts.filter(({ code = exitCodes.ok }) => code !== exitCodes.ok);
      const isDone = hosts.every(({ code }) => code !== undefined);
      if (isDone && (bad.length === 0 || this.#context.options.keepGoing === true)) return;
      const text = bad.map(({ name, code = exitCodes.ok }) => `${name} (${outcomeWord(code)})`).join(', ');
      if (bad.length > 0 && later.length > 0 && text !== told) this.#reportHalt(text, later);
      told = text;
      await change;
    }
  }

  #reportHalt(bad: string, later: readonly string[]): void {
    const text = `Failing: ${bad}. Until they recover, these hosts are not changed: ${later.join(', ')}`;
    this.#context.note(text);
    this.#context.json(jsonLine('fleet_halt', text, { waiting: later }, this.#context.io.nowMs(), 'warn'));
  }

  #hostRunOf(one: RunHost): HostRun {
    const { name } = one.host;
    const host =
      this.#hosts.get(name) ??
      new HostRun(stayingContext(this.#context, one.context, one.host), {
        name,
        settings: this.#settings,
        end: AbortSignal.any([this.#end]),
        onCode: () => this.#changed(),
      });
    this.#hosts.set(name, host);
    return host;
  }
}

/**
 * Manifests are read host by host: files that change meanwhile would be old for the first host and new for the last, which would
 * then go first. Two equal readings are of the same files.
 */
async function stableReading(
  first: readonly RunHost[],
  read: () => Promise<readonly RunHost[]>,
): Promise<readonly RunHost[]> {
  let before = first;
  for (;;) {
    const now = await read();
    if (now.every((one, index) => textOf(one) === textOf(before[index] ?? one))) return now;
    before = now;
  }
}

const textOf = ({ loaded }: LoadedHost): string => JSON.stringify(loaded.documents);

interface HostRunDeps {
  readonly name: string;
  readonly settings: RunSettings;
  readonly end: AbortSignal;
  /** Called when the state of the host is known. */
  readonly onCode: () => void;
}

/** One host of the run, with its current manifests and state. */
class HostRun {
  readonly #context: RunContext;
  readonly #deps: HostRunDeps;
  #loaded: Loaded | undefined;
  #keeper: Keeper | undefined;
  #code: ExitCode | undefined;
  #text = '';
  #ended: Promise<unknown> | undefined;

  constructor(context: RunContext, deps: HostRunDeps) {
    this.#context = context;
    this.#deps = deps;
  }

  get name(): string {
    return this.#deps.name;
  }

  /** Text of its current documents. */
  get text(): string {
    return this.#text;
  }

  /** Outcome of the last comparison with its current manifests; absent before the first. */
  get code(): ExitCode | undefined {
    return this.#code;
  }

  get ended(): Promise<unknown> {
    return this.#ended ?? Promise.resolve();
  }

  give(one: LoadedHost | undefined): void {
    if (one === undefined) return;
    this.#text = textOf(one);
    this.#loaded = one.loaded;
    this.#code = undefined;
    if (this.#keeper === undefined) this.#ended ??= this.#stay();
    else this.#keeper.give(one.loaded);
  }

  #stay(): Promise<ExitCode> {
    const { end, settings } = this.#deps;
    return keepConnected(
      this.#context,
      end,
      async (client) => {
        // It may have got new manifests while it was unreachable.
        const loaded = this.#loaded;
        if (loaded === undefined) throw new Error(`nothing was given to ${this.name}`);
        const onLook = (looked: Loaded, code: ExitCode): void => this.#heard(looked, code);
        this.#keeper = new Keeper(this.#context, client, { ...settings, loaded, onLook });
        await this.#keeper.keep(end);
        return exitCodes.ok;
      },
      (code) => this.#heard(this.#loaded, code),
    );
  }

  #heard(loaded: Loaded | undefined, code: ExitCode): void {
    if (loaded !== this.#loaded) return;
    this.#code = code;
    this.#deps.onCode();
  }
}
