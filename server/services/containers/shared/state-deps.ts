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

/** Requested power actions in their order, and the shutdowns among them. */
export interface ShutdownBook {
  /** After all earlier actions on the container, shutdowns included. */
  inTurn(name: string, work: () => Promise<void>): Promise<void>;
  /** A clean stop. It joins one under way, as in LXD: both end together. `timeoutMs`: how long it waits for that one. */
  stopInTurn(name: string, timeoutMs: number | undefined, stop: () => Promise<void>): Promise<void>;
  /** `shutdown`: all of it, with what follows the end of the container. */
  during(name: string, shutdown: () => Promise<void>): Promise<void>;
  /** What follows the end of the container is left to its shutdown. */
  isPending(name: string): boolean;
  /** The caller has ended the container, and does what follows instead of the pending shutdown. */
  takeOver(name: string): void;
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
}
