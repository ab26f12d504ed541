// The dependencies of starting and stopping.
import type { RunConfig } from '../../../drivers/runtime/driver.ts';
import type { ContainerDeps } from '../deps.ts';
import type { NetworkHosts } from '../../networks/network-hosts.ts';

export type StateDeps = ContainerDeps & {
  readonly hosts: NetworkHosts;
  /** The daemon runs unprivileged containers only. */
  readonly unprivilegedOnly: boolean;
  readonly fencing: StartGuard;
  readonly shutdowns: ShutdownBook;
};

/** Shutdowns under way. */
export interface ShutdownBook {
  during(name: string, shutdown: () => Promise<void>): Promise<void>;
  /** Kills the container if it is shutting down, which ends that shutdown. False: it was not. */
  cutShort(name: string, signal: AbortSignal): Promise<boolean>;
}

/** What a cluster with healing lets this host run. */
export interface StartGuard {
  /** Names that an earlier daemon guarded. */
  readonly formerNames: readonly string[];
  /** The container ended because another member may start it: that is no stop. */
  hasEnded(name: string): boolean;
  /** Throws AppError unavailable if another member might start it, too. */
  whileStarting<T>(name: string, start: (limits: Pick<RunConfig, 'startUntilFile'>) => Promise<T>): Promise<T>;
}

export interface StateChange {
  readonly force: boolean;
  readonly timeoutMs: number | undefined;
  /** A start uses the checkpoint; a stop makes one. */
  readonly stateful?: boolean;
  /** This forced change has already cut a shutdown short. */
  readonly isCutShort?: boolean;
}
