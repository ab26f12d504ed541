// `gantry drift --watch`: compares each host at every event of the server, prints objects that started or stopped drifting, with
// author and time, and logs the events for later reports. Only reads.
import type { Run, Context, Output } from '../../session/context.ts';
import type { Client } from '../../../../server/client/client.ts';
import type { DriftObject, DriftReport } from '../../../core/drift/drift.ts';
import { driftNews } from '../../../core/drift/drift-changes.ts';
import { driftLine, driftObjectJson, renderDriftObject } from '../../../core/drift/render-drift.ts';
import { describeSeen, seenJson, type LifecycleChange } from '../../../core/drift/lifecycle-changes.ts';
import { CachedLists } from '../../../engine/observe/cached-reader.ts';
import { CertificateBook } from '../../../engine/observe/certificate-names.ts';
import { stateDirectory } from '../../../engine/runs/journal.ts';
import { logSeen } from '../../../engine/observe/change-log.ts';
import { watch, type Occasion } from '../../../engine/observe/watch.ts';
import type { Loaded } from '../../../manifest/load-contract.ts';
import { ignoreRules } from './ignore-rules.ts';
import type { DriftOptions } from './planning-verbs.ts';
import { exitCodes, type ExitCode } from '../../errors/exit-codes.ts';
import { worstCode } from '../../hosts/each-host.ts';
import { stayingContext } from '../../hosts/host-context.ts';
import { keepConnected } from '../../hosts/keep-connected.ts';
import { loadHosts } from '../../hosts/load-hosts.ts';
import { paintFor } from '../../output/paint.ts';
import { readerOf } from '../../session/read-only-client.ts';
import { jsonLine } from '../../output/render-json.ts';
import { hostName, withClient } from '../../session/connect.ts';
import { loadSet } from '../../session/load-set.ts';
import { planOf } from '../../session/plan.ts';
import { reportingOnce } from '../../watch/report-once.ts';
import { usageError } from '../../errors/usage-error.ts';
import { endOf, timesOf, type WatchTimes } from '../../watch/watch-times.ts';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

const defaultIntervalMs = 300_000;

export const watchDrift: Run<DriftOptions> = async (context, args, fleet) => {
  const { intervalMs, limitMs } = watchTimes(context.options);
  if (fleet === undefined) {
    const loaded = await loadSet(context, args);
    return withClient(context, (client) =>
      watchHost(context, client, { args, loaded, intervalMs }, endOf(context, limitMs)),
    );
  }
  const selected = (await loadHosts(context, fleet, args)).filter(({ isUnselected }) => !isUnselected);
  const end = endOf(context, limitMs);
  const codes = await Promise.all(
    selected.map(({ context: own, host, loaded }) => {
      const staying = stayingContext(context, own, host, context.options.output === 'json');
      return keepConnected(staying, end, (client) => watchHost(staying, client, { args, loaded, intervalMs }, end));
    }),
  );
  return worstCode(codes);
};

function watchTimes(options: DriftOptions): WatchTimes {
  if (options.output === 'markdown') throw usageError('--watch prints one line per change: use -o text or json');
  return timesOf(options, defaultIntervalMs);
}

interface WatchOptions {
  readonly args: readonly string[];
  readonly loaded: Loaded;
  readonly intervalMs: number;
}

/** Runs until `end`. */
async function watchHost(
  context: Context<DriftOptions>,
  client: Client,
  wanted: WatchOptions,
  end: AbortSignal,
): Promise<ExitCode> {
  const watcher = new DriftWatcher(context, client, wanted);
  const stopWatching = context.io.watchReader();
  try {
    await watch({ ...watcher.parts(), intervalMs: () => wanted.intervalMs }, end);
  } finally {
    stopWatching();
  }
  if (context.stop.aborted) return exitCodes.interrupted;
  return watcher.hasDrift && context.options.exitCode !== false ? exitCodes.changes : exitCodes.ok;
}

/** The watch of one host, with its last comparison. */
class DriftWatcher {
  readonly #context: Context<DriftOptions>;
  readonly #client: Client;
  readonly #wanted: WatchOptions;
  readonly #lists: CachedLists;
  readonly #book: CertificateBook;
  readonly #out: Lines;
  #loaded: Loaded;
  #report: DriftReport | undefined;
  #failure = '';
  #isLogged = true;

  constructor(context: Context<DriftOptions>, client: Client, wanted: WatchOptions) {
    this.#context = reportingOnce(context);
    this.#client = client;
    this.#wanted = wanted;
    this.#loaded = wanted.loaded;
    this.#lists = new CachedLists(client);
    this.#book = new CertificateBook(this.#lists.list);
    this.#out = linesOf(context, context.isJson || context.options.output === 'json');
  }

  get hasDrift(): boolean {
    return (this.#report?.objects.length ?? 0) > 0;
  }

  parts(): Omit<Parameters<typeof watch>[0], 'intervalMs'> {
    const { project } = this.#context.options;
    return {
      events: (signal, options) => this.#client.events(['lifecycle'], signal, options),
      look: (occasion, signal) => this.#look(occasion, signal),
      onConnection: (state) => this.#out.connection(state),
      onFailure: (error) => this.#failed(error),
      ...withoutUndefined({ project }),
    };
  }

  async #look({ seen: unnamed, isWhole }: Occasion, signal: AbortSignal): Promise<void> {
    if (isWhole) {
      this.#lists.forget();
      this.#book.forget();
      await this.#readAgain();
    } else await this.#lists.refresh(unnamed, signal);
    const seen = await this.#book.name(unnamed, signal);
    await this.#log(seen);
    const report = await this.#find();
    const news = driftNews(this.#report, report);
    const isFirst = this.#report === undefined;
    this.#report = report;
    this.#failure = '';
    if (isFirst) return this.#out.begin(report);
    for (const one of seen) if (isOfSet(one, report, this.#loaded)) this.#out.seen(one);
    for (const object of news.appeared)
      this.#out.appeared(
        object,
        seen.filter(({ address }) => address === object.address),
      );
    for (const { address, paths } of news.resolved)
      this.#out.resolved(
        address,
        paths,
        seen.filter((one) => one.address === address),
      );
    if (news.appeared.length + news.resolved.length > 0) this.#out.summary(report);
  }

  async #find(): Promise<DriftReport> {
    const { findDrift } = await import('../../../core/drift/drift.ts');
    const reader = readerOf(this.#client, this.#lists.list);
    const { plan, observed, owner } = await planOf(this.#context, reader, this.#loaded, 'apply');
    // Rules can expire during the watch.
    return findDrift({ plan, observed, owner, ignore: ignoreRules(this.#context, this.#context.options.ignore) });
  }

  /** Keeps the last valid manifests while someone edits them into an invalid state. */
  async #readAgain(): Promise<void> {
    if (this.#report === undefined || this.#wanted.args.includes('-')) return;
    try {
      this.#loaded = await loadSet(this.#context, this.#wanted.args);
    } catch (error) {
      this.#context.stop.throwIfAborted();
      const why = reasonOf(error);
      this.#context.note(`Cannot read the manifests, so the last good ones stay in force: ${why}`);
    }
  }

  async #log(seen: readonly LifecycleChange[]): Promise<void> {
    const place = { directory: stateDirectory(this.#context.io.env), host: hostName(this.#context, this.#client) };
    try {
      await logSeen(place, seen);
    } catch (error) {
      if (this.#isLogged) this.#context.note(`Cannot save observed changes for later reports: ${reasonOf(error)}`);
      this.#isLogged = false;
    }
  }

  #failed(error: unknown): void {
    const why = reasonOf(error);
    if (why !== this.#failure) this.#out.failed(why);
    this.#failure = why;
  }
}

const isOfSet = ({ address }: LifecycleChange, report: DriftReport, { documents }: Loaded): boolean =>
  documents.some((document) => document.address === address) || report.undeclared.includes(address);

interface Lines {
  begin(report: DriftReport): void;
  seen(one: LifecycleChange): void;
  appeared(object: DriftObject, seen: readonly LifecycleChange[]): void;
  resolved(address: string, paths: readonly string[], seen: readonly LifecycleChange[]): void;
  summary(report: DriftReport): void;
  connection(state: 'lost' | 'back'): void;
  failed(why: string): void;
}

const lost = 'The event connection is lost; everything is compared again once it is back';
const back = 'The event connection is back: comparing everything';

function linesOf(context: Output, isJson: boolean): Lines {
  return isJson ? jsonLines(context) : textLines(context);
}

function jsonLines({ io }: Output): Lines {
  const line = (type: string, message: string, fields: object, level = 'info'): void =>
    void io.stdout.write(
      `${jsonLine(type, message, fields as Readonly<Record<string, unknown>>, io.nowMs(), level)}\n`,
    );
  const summary = (report: DriftReport): void =>
    line('drift_summary', driftLine(report), { drifted: report.objects.length, checked: report.checked });
  const change = (object: DriftObject, seen: readonly LifecycleChange[]): void =>
    line('resource_drift', `${object.address}: drift`, { change: driftObjectJson(object), seen: seen.map(seenJson) });
  return {
    begin(report) {
      for (const object of report.objects) change(object, object.seen === undefined ? [] : [object.seen]);
      summary(report);
    },
    seen: (one) =>
      line('event', `${one.address}: ${describeSeen(one)}`, { event: { addr: one.address, ...seenJson(one) } }),
    appeared: change,
    resolved: (address, paths, seen) =>
      line('drift_resolved', `${address}: as declared again`, {
        resolved: { address, paths, seen: seen.map(seenJson) },
      }),
    summary,
    connection: (state) => line('watch_gap', state === 'lost' ? lost : back, { connection: state }, 'warn'),
    failed: (why) => line('watch_error', why, {}, 'error'),
  };
}

function textLines(context: Output): Lines {
  const { io, out, note, color } = context;
  const paint = paintFor(color);
  const time = (): string => paint.dim(new Date(io.nowMs()).toISOString().slice(11, 19));
  const by = (seen: readonly LifecycleChange[]): string => {
    const last = seen.at(-1);
    return last === undefined ? '' : paint.dim(`\n      # ${describeSeen(last)}`);
  };
  return {
    begin(report) {
      for (const object of report.objects) out(renderDriftObject(object, { color }));
      out(`${time()} ${driftLine(report)} Watching for changes.`);
    },
    seen: (one) => note(`${time()} ${one.address}: ${describeSeen(one)}`),
    appeared: (object, seen) => out(`${time()}\n${renderDriftObject(object, { color })}${by(seen)}`),
    resolved: (address, paths, seen) =>
      out(`${time()}\n${paint.green('  =')} ${address}: as declared again${shownPaths(paths)}${by(seen)}`),
    summary: (report) => out(`${time()} ${driftLine(report)}`),
    connection: (state) => note(`${time()} ${state === 'lost' ? lost : back}`),
    failed: (why) => note(`${time()} The comparison failed and is retried: ${why}`),
  };
}

const shownPaths = (paths: readonly string[]): string =>
  paths.every((path) => path === '') ? '' : `: ${paths.filter((path) => path !== '').join(', ')}`;
