// The dependencies of starting and stopping.
import type { ContainerDeps } from '../deps.ts';
import type { Fencing } from '../../cluster/healing/fencing.ts';
import type { NetworkHosts } from '../../networks/network-hosts.ts';

export type StateDeps = ContainerDeps & {
  readonly hosts: NetworkHosts;
  /** The daemon is started for unprivileged containers only. */
  readonly unprivilegedOnly: boolean;
  /** Of this host in a cluster that starts containers of lost members elsewhere. */
  readonly fencing: Fencing;
};

export interface Wanted {
  readonly force: boolean;
  readonly timeoutMs: number | undefined;
  /** A start uses the checkpoint; a stop makes one. */
  readonly stateful?: boolean;
}
