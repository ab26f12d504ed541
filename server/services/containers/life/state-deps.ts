// What starting and stopping takes.
import type { ContainerDeps } from '../deps.ts';
import type { NetworkHosts } from '../../networks/network-hosts.ts';

export type StateDeps = ContainerDeps & {
  readonly hosts: NetworkHosts;
  /** The daemon is started for unprivileged containers only. */
  readonly unprivilegedOnly: boolean;
};

export interface Wanted {
  readonly force: boolean;
  readonly timeoutMs: number | undefined;
  /** A start uses the checkpoint; a stop makes one. */
  readonly stateful?: boolean;
}
