// The rollouts of a set: a revision goes to the hosts batch by batch, one rollout at a time, and is taken back when too many hosts fail.
import { setTimeout as pause } from 'node:timers/promises';
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import type { Rollout } from '../config/config.ts';
import type { Delivery } from '../decide/hooks.ts';
import { batchVerdict } from '../decide/rollout.ts';
import { retryPauseMs } from '../decide/retry.ts';
import { short } from '../decide/short-revision.ts';
import type { LoadedRevision } from './load-revision.ts';
import type { Run, RunStart } from './run.ts';
import type { SetOnHost } from './on-host/set-on-host.ts';
import { namesText } from '../../../server/api/text/names-text.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export type StartPart = Omit<RunStart, 'revision' | 'previousRevision'>;

export interface RolloutDeps {
  readonly rollout: Pick<Rollout, 'stopAfter' | 'rollback'>;
  /** The batches in their order; the hosts of a batch get a revision at once. */
  readonly batchesOf: (hosts: readonly SetOnHost[]) => readonly (readonly SetOnHost[])[];
  /** The rollout waits for a host that is away. */
  readonly waitsForAway?: boolean;
  readonly hosts: readonly SetOnHost[];
  /** The text of the documents that a host has. */
  readonly appliedText: (host: string) => string | undefined;
  /** Begins to store that these hosts get the revision. */
  readonly noteGiven: (hosts: readonly string[], revision: string) => void;
  readonly begin: (start: StartPart & { readonly revision: string }) => Run;
  readonly hasEarlier: () => boolean;
  /** Makes the last good revision the current one again; undefined when there is none. */
  readonly goBack: (
    from: string,
  ) => Promise<{ readonly revision: string; readonly loaded: LoadedRevision } | undefined>;
  readonly onWithdrawn: (revision: string, message: string) => void;
  /** Stores that hooks must follow when all hosts have the revision. */
  readonly owe?: (delivery: Delivery) => void;
  /** Runs the hooks after a sync. `isNews`: this rollout changed hosts. Returns why a hook failed. */
  readonly afterSync?: (delivery: Delivery, isNews: boolean) => Promise<string | undefined>;
  /** Runs the hooks after a failure. Returns why a hook failed. */
  readonly onFailure?: (delivery: Delivery) => Promise<string | undefined>;
  /** Watches metrics of these hosts. Returns why the rollout must stop. */
  readonly check?: (revision: string, hosts: readonly string[], overtaken: AbortSignal) => Promise<string | undefined>;
  /** True if a rollout of the revision began and its last check has not passed, also in an earlier process. */
  readonly isUnchecked?: (revision: string) => boolean;
  /** Stores it. */
  readonly noteUnchecked?: (revision: string, isUnchecked: boolean) => void;
  /** False while another controller is the active one; `wake` follows when this one becomes it. */
  readonly isActive?: () => boolean;
  /** Called when all hosts have the revision. */
  readonly onGood: (revision: string) => void;
  readonly onError: (message: string) => void;
  readonly by: string;
  readonly nowMs: () => number;
}

export class Rollouts {
  readonly #deps: RolloutDeps;
  #current: AbortController | undefined;
  #message: string | undefined;
  /** The hosts whose failure `#message` describes; absent when it describes a rollout that was taken back. */
  #halted: readonly SetOnHost[] | undefined;
  #changed = (): void => {};
  #isStopped = false;

  constructor(deps: RolloutDeps) {
    this.#deps = deps;
  }

  /** Why the last rollout stopped; undefined once its failed hosts have succeeded. */
  get message(): string | undefined {
    const isOver = this.#halted !== undefined && !this.#halted.some(({ isFailed }) => isFailed);
    return isOver ? undefined : this.#message;
  }

  /** A check or a hook stopped the rollout. No host failed, so it does not continue by itself. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** The status of a host changed, or this controller became the active one. */
  wake(): void {
    this.#changed();
  }

  /** Stops the current rollout: no further host gets its revision. */
  stop(why: string): void {
    this.#current?.abort(why);
  }

  /** Rolls out batch by batch in the background, until a newer rollout starts. Returns its run when it changes hosts. */
  start(
    revision: string,
    { hosts: loaded, secrets }: LoadedRevision,
    start: StartPart,
    onlyOn?: readonly string[],
  ): Run | undefined {
    const { hosts, appliedText, begin, onError, nowMs, isUnchecked } = this.#deps;
    this.stop('A newer revision came first.');
    const wasStopped = this.#isStopped || isUnchecked?.(revision) === true;
    const overtaken = new AbortController();
    this.#current = overtaken;
    const chosen = hosts.filter(({ name }) => onlyOn === undefined || onlyOn.includes(name));
    const isNews = chosen.some(({ name }) => appliedText(name) !== loaded.get(name)?.text);
    const run = isNews || wasStopped || start.kind === 'rollback' ? begin({ ...start, revision }) : undefined;
    const delivery = { revision, secrets };
    if (run !== undefined) {
      this.#deps.owe?.(delivery);
      this.#deps.noteUnchecked?.(revision, true);
    }
    void this.#batches(delivery, loaded, chosen, run, overtaken.signal).catch((error: unknown) => {
      onError(`the rollout of ${short(revision)} broke: ${reasonOf(error)}`);
      run?.end('failed', nowMs(), reasonOf(error));
    });
    return run;
  }

  async #batches(
    delivery: Delivery,
    loaded: LoadedRevision['hosts'],
    hosts: readonly SetOnHost[],
    run: Run | undefined,
    overtaken: AbortSignal,
  ): Promise<void> {
    const { batchesOf, noteGiven, nowMs, onGood } = this.#deps;
    const { revision } = delivery;
    this.#message = undefined;
    this.#halted = undefined;
    this.#isStopped = false;
    overtaken.addEventListener('abort', () => this.#changed(), { once: true });
    const given: SetOnHost[] = [];
    for (const batch of batchesOf(hosts)) {
      if (overtaken.aborted) return run?.end('cancelled', nowMs(), String(overtaken.reason));
      noteGiven(
        batch.map(({ name }) => name),
        revision,
      );
      for (const host of batch) {
        const own = loaded.get(host.name);
        if (own !== undefined) host.give({ ...delivery, loaded: own, ...withoutUndefined({ run }) });
      }
      given.push(...batch);
      const verdict = await this.#verdictOf(batch, given, delivery, overtaken);
      if (verdict === 'overtaken') return run?.end('cancelled', nowMs(), String(overtaken.reason));
      if (verdict === 'withdrawn') return this.#withdraw(revision, run, overtaken);
      const why = run === undefined ? undefined : await this.#checked(revision, given, overtaken);
      if (await this.#isOvertaken(overtaken)) return run?.end('cancelled', nowMs(), String(overtaken.reason));
      if (why !== undefined) return this.#stopBy(why, delivery, given, run, overtaken);
    }
    if (run !== undefined) this.#deps.noteUnchecked?.(revision, false);
    const failed = failedNames(given);
    const late = given.filter((host) => !host.isSynced && !host.isFailed).map(({ name }) => name);
    if (failed.length > 0) run?.end('partial', nowMs(), `It failed on ${namesText(failed)}${causeOf(given)}`);
    else if (late.length > 0) run?.end('done', nowMs(), `Not yet on ${namesText(late)}: they get it later.`);
    await this.#allSynced(given, overtaken);
    const why = (await this.#isOvertaken(overtaken))
      ? undefined
      : await this.#deps.afterSync?.(delivery, run !== undefined);
    if (overtaken.aborted) return run?.end('cancelled', nowMs(), String(overtaken.reason));
    if (why !== undefined) {
      this.#isStopped = true;
      this.#message = `All hosts have revision ${short(revision)}, but ${why}`;
      this.#deps.onError(this.#message);
      return run?.end('partial', nowMs(), this.#message);
    }
    if (failed.length === 0) onGood(revision);
    run?.end('done', nowMs());
  }

  /** Another controller that is active meanwhile runs the hooks and takes revisions back. */
  async #isOvertaken(overtaken: AbortSignal): Promise<boolean> {
    while (!overtaken.aborted && this.#deps.isActive?.() === false)
      await new Promise<void>((resolve) => (this.#changed = resolve));
    return overtaken.aborted;
  }

  /** Waits for all hosts. Those that were away or failed get the revision later, in their own runs. */
  async #allSynced(hosts: readonly SetOnHost[], overtaken: AbortSignal): Promise<void> {
    while (!overtaken.aborted && !hosts.every(({ isSynced }) => isSynced))
      await new Promise<void>((resolve) => (this.#changed = resolve));
  }

  async #verdictOf(
    batch: readonly SetOnHost[],
    given: readonly SetOnHost[],
    delivery: Delivery,
    overtaken: AbortSignal,
  ): Promise<'go' | 'overtaken' | 'withdrawn'> {
    const { rollout, hosts, hasEarlier, onError, waitsForAway = false } = this.#deps;
    const before = given.filter((one) => !batch.includes(one));
    let isReported = false;
    while (!(await this.#isOvertaken(overtaken))) {
      const change = new Promise<void>((resolve) => (this.#changed = resolve));
      const counted = [...before.filter(({ isFailed }) => isFailed), ...batch];
      const verdict = batchVerdict(counted, rollout.stopAfter, waitsForAway);
      if (verdict === 'go') return 'go';
      if (verdict === 'halt') {
        const isLast = given.length === hosts.length;
        const failed = namesText(failedNames(given));
        this.#message = `Revision ${short(delivery.revision)} failed on ${failed}${isLast ? '' : ', no further host gets it'}${causeOf(given)}`;
        this.#halted = given;
        if (!isReported) {
          onError(this.#message);
          await this.#afterFailure(delivery);
          // A newer rollout may deliver the same revision, perhaps with other secrets.
          if (overtaken.aborted) break;
        }
        isReported = true;
        if (rollout.rollback && hasEarlier()) return 'withdrawn';
        if (isLast && batch.every(({ isSynced, isFailed, isAway }) => isSynced || isFailed || isAway)) return 'go';
      }
      await change;
    }
    return 'overtaken';
  }

  async #checked(revision: string, given: readonly SetOnHost[], overtaken: AbortSignal): Promise<string | undefined> {
    const having = given.filter(({ isSynced }) => isSynced).map(({ name }) => name);
    if (having.length === 0) return undefined;
    return this.#deps.check?.(revision, having, overtaken).catch((error: unknown) => {
      if (overtaken.aborted) return undefined;
      throw error;
    });
  }

  /** Stops the rollout: hosts that have the revision keep it, or go back when the set asks for that. */
  async #stopBy(
    why: string,
    delivery: Delivery,
    given: readonly SetOnHost[],
    run: Run | undefined,
    overtaken: AbortSignal,
  ): Promise<void> {
    const { revision } = delivery;
    const { rollout, hosts, hasEarlier, onError, nowMs } = this.#deps;
    const isLast = given.length === hosts.length;
    const on = namesText(given.map(({ name }) => name));
    this.#message = `Revision ${short(revision)} was stopped on ${on}${isLast ? '' : ', no further host gets it'}: ${why}`;
    this.#isStopped = true;
    onError(this.#message);
    await this.#afterFailure(delivery);
    if (overtaken.aborted) return run?.end('cancelled', nowMs(), String(overtaken.reason));
    if (rollout.rollback && hasEarlier()) return this.#withdraw(revision, run, overtaken);
    run?.end('partial', nowMs(), this.#message);
  }

  async #afterFailure(delivery: Delivery): Promise<void> {
    const { onFailure, onError } = this.#deps;
    const why = await onFailure?.(delivery);
    if (why !== undefined) onError(why);
  }

  /** Back to the last good revision, until the source has another one. */
  async #withdraw(revision: string, run: Run | undefined, overtaken: AbortSignal): Promise<void> {
    const { onWithdrawn, by, nowMs } = this.#deps;
    const message = this.#message ?? '';
    const last = await this.#goBack(revision, overtaken);
    if (last === undefined) return run?.end('cancelled', nowMs(), `Something newer came first. ${message}`);
    run?.end('rolled-back', nowMs(), message);
    this.start(last.revision, last.loaded, { kind: 'rollback', reason: 'rollout stopped', by, message });
    this.#halted = undefined;
    this.#message = `It was taken back to ${short(last.revision)}. ${message}`;
    onWithdrawn(revision, this.#message);
  }

  /** Tries until the last good revision can be read, which may need a Vault that does not answer now. Undefined when something newer came first. */
  async #goBack(revision: string, overtaken: AbortSignal): ReturnType<RolloutDeps['goBack']> {
    const { goBack, onError } = this.#deps;
    let said: string | undefined;
    for (let failures = 1; !overtaken.aborted; failures += 1) {
      try {
        return await goBack(revision);
      } catch (error) {
        const why = reasonOf(error);
        if (why !== said) onError(`Revision ${short(revision)} cannot be taken back yet, it is tried again: ${why}`);
        said = why;
        const pauseMs = retryPauseMs(goBackPauses, failures, Math.random());
        // A controller that ends does not wait for it.
        await pause(pauseMs, undefined, { signal: overtaken, ref: false }).catch(() => undefined);
      }
    }
    return undefined;
  }
}

/** Pauses between tries to read the last good revision. */
const goBackPauses = { firstMs: 1000, longestMs: 60_000 };

/** Why the first host failed. */
const causeOf = (hosts: readonly SetOnHost[]): string => {
  const why = hosts.find(({ isFailed }) => isFailed)?.failure;
  return why === undefined ? '' : `: ${why}`;
};

const failedNames = (hosts: readonly SetOnHost[]): readonly string[] =>
  hosts.filter(({ isFailed }) => isFailed).map(({ name }) => name);
