// Decides on which hosts the hooks of a phase run, and records which have run for a revision. Pure.
import type { Hook, Hooks } from '../config/config.ts';
import { matchesHost, type HostFacts } from '../../core/documents/host-pattern.ts';
import type { HookPhase } from '../config/hook-schema.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

/** What hosts get: a revision, again with other values when secrets of Vault were rotated. */
export interface Delivery {
  readonly revision: string;
  /** The sealed digest of the values of Vault; absent when the manifests use none. */
  readonly secrets?: string | undefined;
}

/** Hooks run once for each key. */
export const deliveryKey = ({ revision, secrets }: Delivery): string =>
  secrets === undefined ? revision : `${revision} ${secrets}`;

/** In the place of a digest that another key has sealed: these values may be the ones of now, or others. */
export const unknownSecrets = '?';

/** True if the state is of this delivery, as far as its secrets are known. */
export const isStateOf = (state: HookState | undefined, key: string): state is HookState =>
  state?.revision === key ||
  state?.revision === deliveryKey({ revision: key.split(' ', 1)[0] ?? '', secrets: unknownSecrets });

/** The hooks that ran for one delivery, kept over restarts. `began`: still running, or interrupted by the end of the process. */
export interface HookState {
  /** The key of the delivery. */
  readonly revision: string;
  readonly ran: Readonly<Record<string, 'began' | 'done'>>;
  /** The hooks after the sync; absent if the revision came without any. */
  readonly afterSync?: AfterSync;
}

/** `due`: not all of them have run. */
export type AfterSync = 'due' | 'done' | { readonly failed: string };

export const hookKey = (phase: HookPhase, name: string, host: string): string => `${phase}/${name}@${host}`;

/** Around a sync: the hosts of the pattern, else the first host. Around a host: that host, if the pattern allows it. */
export function hostsOfHook<T extends HostFacts>(hook: Hook, hosts: readonly T[], at: T | undefined): readonly T[] {
  const { hosts: pattern } = hook;
  if (at !== undefined) return pattern === undefined || matchesHost(pattern, at) ? [at] : [];
  return pattern === undefined ? hosts.slice(0, 1) : hosts.filter((host) => matchesHost(pattern, host));
}

/**
 * The hooks that must have run before a wave begins, in their order: around each wave before it, and before itself. Infinity: all of them,
 * when a host has everything.
 */
export function hooksUpTo(wave: number, { beforeWave = [], afterWave = [] }: Hooks): readonly WaveHook[] {
  const of = (phase: WaveHook['phase'], list: readonly Hook[]): readonly WaveHook[] =>
    list.map((hook) => ({ phase, hook, wave: hook.wave ?? 0 }));
  const before = of('beforeWave', beforeWave).filter((one) => one.wave <= wave);
  const after = of('afterWave', afterWave).filter((one) => one.wave < wave);
  return [...before, ...after].toSorted((one, other) => one.wave - other.wave);
}

export interface WaveHook {
  readonly phase: 'beforeWave' | 'afterWave';
  readonly hook: Hook;
  readonly wave: number;
}

export const stateOfHook = (
  state: HookState | undefined,
  revision: string,
  key: string,
): 'began' | 'done' | undefined => (isStateOf(state, revision) ? state.ran[key] : undefined);

/** Another revision starts with an empty state. */
export function withHook(
  state: HookState | undefined,
  revision: string,
  key: string,
  outcome: 'began' | 'done' | 'failed',
): HookState {
  const { afterSync, ran } = ofRevision(state, revision);
  const { [key]: _before, ...others } = ran;
  const now = outcome === 'failed' ? others : { ...others, [key]: outcome };
  return { revision, ran: now, ...withoutUndefined({ afterSync }) };
}

export const withAfterSync = (state: HookState | undefined, revision: string, afterSync: AfterSync): HookState => ({
  revision,
  ran: ofRevision(state, revision).ran,
  afterSync,
});

const ofRevision = (state: HookState | undefined, revision: string): Pick<HookState, 'ran' | 'afterSync'> =>
  isStateOf(state, revision) ? state : { ran: {} };
