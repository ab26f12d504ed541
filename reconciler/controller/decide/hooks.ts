// Decides where the hooks of a phase run, and which of them have run for a revision. Pure.
import type { Hook } from '../config/config.ts';
import { matchesHost, type HostFacts } from '../../core/documents/host-pattern.ts';
import type { HookPhase } from '../config/hook-schema.ts';

/** What ran for one revision, kept over restarts. `began`: it is at work, or the end of a process cut it off. */
export interface HookState {
  readonly revision: string;
  readonly ran: Readonly<Record<string, 'began' | 'done'>>;
  /** The hooks after the sync; absent where the revision came without any. */
  readonly afterSync?: AfterSync;
}

/** `due`: not all of them have run. */
export type AfterSync = 'due' | 'done' | { readonly failed: string };

export const hookKey = (phase: HookPhase, name: string, host: string): string => `${phase}/${name}@${host}`;

/** Around a sync: where the pattern says, else the first host. Around a host: there, where the pattern allows it. */
export function hostsOfHook<T extends HostFacts>(hook: Hook, hosts: readonly T[], at: T | undefined): readonly T[] {
  const { hosts: pattern } = hook;
  if (at !== undefined) return pattern === undefined || matchesHost(pattern, at) ? [at] : [];
  return pattern === undefined ? hosts.slice(0, 1) : hosts.filter((host) => matchesHost(pattern, host));
}

export const stateOfHook = (
  state: HookState | undefined,
  revision: string,
  key: string,
): 'began' | 'done' | undefined => (state?.revision === revision ? state.ran[key] : undefined);

/** Another revision begins without any. */
export function withHook(
  state: HookState | undefined,
  revision: string,
  key: string,
  outcome: 'began' | 'done' | 'failed',
): HookState {
  const { afterSync, ran } = ofRevision(state, revision);
  const { [key]: _before, ...others } = ran;
  const now = outcome === 'failed' ? others : { ...others, [key]: outcome };
  return { revision, ran: now, ...(afterSync === undefined ? {} : { afterSync }) };
}

export const withAfterSync = (state: HookState | undefined, revision: string, afterSync: AfterSync): HookState => ({
  revision,
  ran: ofRevision(state, revision).ran,
  afterSync,
});

const ofRevision = (state: HookState | undefined, revision: string): Pick<HookState, 'ran' | 'afterSync'> =>
  state?.revision === revision ? state : { ran: {} };
