// Runs the hooks of a set, each once per revision and phase, and stores their output. A hook that failed runs again at the next
// try, and so does one that was interrupted by the end of the process, since its result is unknown.
import { randomBytes } from 'node:crypto';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import { withoutSecrets } from '../../../../server/lib/shared/without-secrets.ts';
import type { HookPhase } from '../../config/hook-schema.ts';
import type { Hook, Hooks } from '../../config/config.ts';
import {
  hookKey,
  hostsOfHook,
  stateOfHook,
  withAfterSync,
  withHook,
  type AfterSync,
  type HookState,
} from '../../decide/hooks.ts';
import type { HostLink } from '../../hosts/host-link.ts';
import type { RecordLog } from '../state-file.ts';
import { runHook, type HookResult } from './run-hook.ts';

export interface HookRecord {
  readonly id: string;
  readonly at: string;
  readonly revision: string;
  readonly phase: HookPhase;
  readonly name: string;
  readonly host: string;
  readonly outcome: HookResult['outcome'];
  readonly message?: string;
  readonly output: readonly string[];
}

export interface SetHooksDeps {
  readonly set: string;
  readonly hooks: Hooks;
  /** Project of the containers; absent: that of the connection. */
  readonly project?: string;
  /** In their order. */
  readonly links: () => readonly HostLink[];
  readonly state: () => HookState | undefined;
  readonly store: (state: HookState) => Promise<void>;
  readonly records: Pick<RecordLog<HookRecord>, 'put'>;
  readonly log: (level: 'info' | 'warn' | 'error', message: string, host: string) => void;
  readonly nowMs: () => number;
}

/** A hook failed: the change that follows it is not made. */
export class HookError extends Error {
  override readonly name = 'HookError';
}

export class SetHooks {
  readonly #deps: SetHooksDeps;
  /** Hosts that get the revision at the same time share the hooks of their sync. */
  readonly #running = new Map<string, Promise<void>>();

  constructor(deps: SetHooksDeps) {
    this.#deps = deps;
  }

  /** Before the first step on a host. Throws HookError. */
  async before(link: HostLink, revision: string, signal: AbortSignal): Promise<void> {
    await this.#phase('beforeSync', undefined, revision, signal);
    await this.#phase('beforeHost', link, revision, signal);
  }

  /** When a host has a revision in full. Throws HookError. */
  async after(link: HostLink, revision: string, signal: AbortSignal): Promise<void> {
    await this.#phase('afterHost', link, revision, signal);
  }

  /** Called when a rollout starts: stores that its hooks must follow, also when the process ends before. */
  async owe(revision: string): Promise<void> {
    const { hooks, state, store } = this.#deps;
    if ((hooks.afterSync ?? []).length > 0) await store(withAfterSync(state(), revision, 'due'));
  }

  /** Called when all hosts have the revision. Without `isNews`, runs only hooks that an earlier process left. Returns why a hook failed. */
  async afterSync(revision: string, isNews: boolean, signal: AbortSignal): Promise<string | undefined> {
    const { state, store } = this.#deps;
    const known = state()?.revision === revision ? state()?.afterSync : undefined;
    if (!isNews && known !== 'due') return typeof known === 'object' ? known.failed : undefined;
    const why = await this.#ended('afterSync', revision, signal);
    const outcome: AfterSync = why === undefined ? 'done' : { failed: why };
    if (known !== undefined && state()?.revision === revision && !signal.aborted)
      await store(withAfterSync(state(), revision, outcome));
    return why;
  }

  /** Called when a rollout has stopped. Returns why a hook failed. */
  async onFailure(revision: string, signal: AbortSignal): Promise<string | undefined> {
    return this.#ended('onFailure', revision, signal);
  }

  async #ended(phase: HookPhase, revision: string, signal: AbortSignal): Promise<string | undefined> {
    try {
      await this.#phase(phase, undefined, revision, signal);
      return undefined;
    } catch (error) {
      return reasonOf(error);
    }
  }

  async #phase(phase: HookPhase, at: HostLink | undefined, revision: string, signal: AbortSignal): Promise<void> {
    const hosts = this.#deps.links().map((link) => ({ ...link.host, link }));
    const here = hosts.find(({ link }) => link === at);
    for (const hook of this.#deps.hooks[phase] ?? [])
      for (const { link } of hostsOfHook(hook, hosts, here)) await this.#once(phase, hook, link, revision, signal);
  }

  async #once(phase: HookPhase, hook: Hook, link: HostLink, revision: string, signal: AbortSignal): Promise<void> {
    const key = hookKey(phase, hook.name, link.host.name);
    if (stateOfHook(this.#deps.state(), revision, key) === 'done') return;
    const known = this.#running.get(key);
    if (known !== undefined) return known;
    const work = this.#run(phase, hook, link, revision, signal).finally(() => this.#running.delete(key));
    this.#running.set(key, work);
    await work;
  }

  async #run(phase: HookPhase, hook: Hook, link: HostLink, revision: string, signal: AbortSignal): Promise<void> {
    const { set, project, state, store, log } = this.#deps;
    const { name } = link.host;
    const key = hookKey(phase, hook.name, name);
    const what = `the hook ${hook.name} (${phase})`;
    if (!link.isOnline) throw new HookError(`${what} cannot run: ${name} is offline`);
    if (stateOfHook(state(), revision, key) === 'began')
      log('warn', `${what} was cut off by the end of the controller; it runs again`, name);
    await store(withHook(state(), revision, key, 'began'));
    const client = project === undefined ? link.client : link.client.inProject(project);
    const environment = { GANTRY_SET: set, GANTRY_HOST_NAME: name, GANTRY_REVISION: revision, GANTRY_HOOK: phase };
    const result = await runHook(hook, client, environment, signal);
    const { outcome, message } = result;
    // A newer revision has a state of its own.
    if (state()?.revision === revision)
      await store(withHook(state(), revision, key, outcome === 'failed' ? 'failed' : 'done'));
    this.#keep(phase, hook, name, revision, result);
    if (outcome === 'failed') throw new HookError(`${what} failed on ${name}: ${message ?? 'no reason is known'}`);
  }

  #keep(phase: HookPhase, { name }: Hook, host: string, revision: string, result: HookResult): void {
    const { records, log, nowMs } = this.#deps;
    const output = result.output.map(withoutSecrets);
    const at = new Date(nowMs()).toISOString();
    records.put({ id: randomBytes(6).toString('hex'), at, revision, phase, name, host, ...result, output });
    const words = { done: 'is done', failed: 'failed', 'left-out': 'was left out' }[result.outcome];
    const why = result.message === undefined ? '' : `: ${result.message}`;
    const lines = output.map((line) => `\n  ${line}`).join('');
    log(result.outcome === 'failed' ? 'error' : 'info', `the hook ${name} (${phase}) ${words}${why}${lines}`, host);
  }
}
