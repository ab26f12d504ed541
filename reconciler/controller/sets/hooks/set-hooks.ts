// Runs the hooks of a set, each once per delivery (a revision with its secrets) and phase, and stores their output. A hook that failed runs again at the next
// try, and so does one that was interrupted by the end of the process, since its result is unknown.
import { randomBytes } from 'node:crypto';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';
import { withoutSecrets } from '../../../../server/lib/shared/without-secrets.ts';
import type { HookPhase } from '../../config/hook-schema.ts';
import type { Hook, Hooks } from '../../config/config.ts';
import {
  deliveryKey,
  hookKey,
  hooksUpTo,
  hostsOfHook,
  isStateOf,
  stateOfHook,
  withAfterSync,
  withHook,
  type AfterSync,
  type Delivery,
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
  /** Removes the secrets of the set's documents from a text. */
  readonly hide: (text: string) => string;
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
  async before(link: HostLink, delivery: Delivery, signal: AbortSignal): Promise<void> {
    await this.#phase('beforeSync', undefined, delivery, signal);
    await this.#phase('beforeHost', link, delivery, signal);
  }

  /** Before the first step of a wave on a host, when the waves before it are done: also the hooks of those. Throws HookError. */
  async beforeWave(link: HostLink, wave: number, delivery: Delivery, signal: AbortSignal): Promise<void> {
    await this.#each(hooksUpTo(wave, this.#deps.hooks), link, delivery, signal);
  }

  /** When a host has a revision in full. Throws HookError. */
  async after(link: HostLink, delivery: Delivery, signal: AbortSignal): Promise<void> {
    await this.beforeWave(link, Infinity, delivery, signal);
    await this.#phase('afterHost', link, delivery, signal);
  }

  /** Called when a rollout starts: stores that its hooks must follow, also when the process ends before. */
  async owe(delivery: Delivery): Promise<void> {
    const { hooks, state, store } = this.#deps;
    if ((hooks.afterSync ?? []).length > 0) await store(withAfterSync(state(), deliveryKey(delivery), 'due'));
  }

  /** Called when all hosts have the revision. Without `isNews`, runs only hooks that an earlier process left. Returns why a hook failed. */
  async afterSync(delivery: Delivery, isNews: boolean, signal: AbortSignal): Promise<string | undefined> {
    const { state, store } = this.#deps;
    const key = deliveryKey(delivery);
    const known = isStateOf(state(), key) ? state()?.afterSync : undefined;
    if (!isNews && known !== 'due') return typeof known === 'object' ? known.failed : undefined;
    const why = await this.#ended('afterSync', delivery, signal);
    const outcome: AfterSync = why === undefined ? 'done' : { failed: why };
    if (known !== undefined && isStateOf(state(), key) && !signal.aborted)
      await store(withAfterSync(state(), key, outcome));
    return why;
  }

  /** Called when a rollout has stopped. Returns why a hook failed. */
  async onFailure(delivery: Delivery, signal: AbortSignal): Promise<string | undefined> {
    return this.#ended('onFailure', delivery, signal);
  }

  async #ended(phase: HookPhase, delivery: Delivery, signal: AbortSignal): Promise<string | undefined> {
    try {
      await this.#phase(phase, undefined, delivery, signal);
      return undefined;
    } catch (error) {
      return reasonOf(error);
    }
  }

  async #phase(phase: HookPhase, at: HostLink | undefined, delivery: Delivery, signal: AbortSignal): Promise<void> {
    const list = this.#deps.hooks[phase] ?? [];
    await this.#each(
      list.map((hook) => ({ phase, hook })),
      at,
      delivery,
      signal,
    );
  }

  async #each(
    list: readonly { readonly phase: HookPhase; readonly hook: Hook }[],
    at: HostLink | undefined,
    delivery: Delivery,
    signal: AbortSignal,
  ): Promise<void> {
    const hosts = this.#deps.links().map((link) => ({ ...link.host, link }));
    const here = hosts.find(({ link }) => link === at);
    for (const { phase, hook } of list)
      for (const { link } of hostsOfHook(hook, hosts, here)) await this.#once(phase, hook, link, delivery, signal);
  }

  async #once(phase: HookPhase, hook: Hook, link: HostLink, delivery: Delivery, signal: AbortSignal): Promise<void> {
    const key = hookKey(phase, hook.name, link.host.name);
    if (stateOfHook(this.#deps.state(), deliveryKey(delivery), key) === 'done') return;
    const known = this.#running.get(key);
    if (known !== undefined) return known;
    const work = this.#run(phase, hook, link, delivery, signal).finally(() => this.#running.delete(key));
    this.#running.set(key, work);
    await work;
  }

  async #run(phase: HookPhase, hook: Hook, link: HostLink, delivery: Delivery, signal: AbortSignal): Promise<void> {
    const { set, project, state, store, log } = this.#deps;
    const { name } = link.host;
    const key = hookKey(phase, hook.name, name);
    const { revision } = delivery;
    const whole = deliveryKey(delivery);
    const what = `the hook ${hook.name} (${phase})`;
    if (!link.isOnline) throw new HookError(`${what} cannot run: ${name} is offline`);
    if (stateOfHook(state(), whole, key) === 'began')
      log('warn', `${what} was cut off by the end of the controller; it runs again`, name);
    await store(withHook(state(), whole, key, 'began'));
    const client = project === undefined ? link.client : link.client.inProject(project);
    const environment = {
      GANTRY_SET: set,
      GANTRY_HOST_NAME: name,
      GANTRY_REVISION: revision,
      GANTRY_HOOK: phase,
      ...(hook.wave === undefined ? {} : { GANTRY_WAVE: String(hook.wave) }),
    };
    const result = this.#withoutSecrets(await runHook(hook, client, environment, signal));
    const { outcome, message } = result;
    // A newer delivery has a state of its own.
    if (isStateOf(state(), whole)) await store(withHook(state(), whole, key, outcome === 'failed' ? 'failed' : 'done'));
    this.#keep(phase, hook, name, revision, result);
    if (outcome === 'failed') throw new HookError(`${what} failed on ${name}: ${message ?? 'no reason is known'}`);
  }

  /** A hook prints what it likes, and its last lines are kept and sent. */
  #withoutSecrets({ outcome, message, output }: HookResult): HookResult {
    const hide = (text: string): string => this.#deps.hide(withoutSecrets(text));
    return { outcome, output: output.map(hide), ...(message === undefined ? {} : { message: hide(message) }) };
  }

  #keep(phase: HookPhase, { name }: Hook, host: string, revision: string, result: HookResult): void {
    const { records, log, nowMs } = this.#deps;
    const at = new Date(nowMs()).toISOString();
    records.put({ id: randomBytes(6).toString('hex'), at, revision, phase, name, host, ...result });
    const words = { done: 'is done', failed: 'failed', 'left-out': 'was left out' }[result.outcome];
    const why = result.message === undefined ? '' : `: ${result.message}`;
    const lines = result.output.map((line) => `\n  ${line}`).join('');
    log(result.outcome === 'failed' ? 'error' : 'info', `the hook ${name} (${phase}) ${words}${why}${lines}`, host);
  }
}
