// The options of a daemon, and the handle that its starter gets.
import type { RemoteLimits } from '../drivers/remote/driver.ts';
import type { Clock } from '../lib/clock.ts';
import type { Log } from '../lib/log.ts';
import type { MinuteTimer } from '../services/shared/scheduler.ts';
import type { Store } from '../store/store.ts';
import type { HostDriverOptions, HostDrivers, RuntimeChoice } from './host-drivers.ts';
import type { LxdListeners } from './listeners.ts';
import type { EtcdChoice } from './stores/store-choice.ts';

export interface DaemonOptions {
  readonly stateDir: string;
  readonly runtime: RuntimeChoice;
  /** HOST:PORT to listen on with TLS; overrides core.https_address while the daemon runs. */
  readonly https?: string;
  /** Where unmodified clients of LXD are served, in its dialect; nowhere without it. */
  readonly lxd?: LxdListeners;
  /** Group that may use the local sockets. */
  readonly group?: string;
  /** No container may be privileged. */
  readonly unprivilegedOnly?: boolean;
  /** Where records are, instead of in the state directory; without it, where they were the last time. */
  readonly etcd?: EtcdChoice;
  /** Where the records of a cluster go that this host founds. */
  readonly clusterStore?: EtcdChoice;
  /** The program etcd for a cluster whose members run it; default: that of PATH. */
  readonly etcdPath?: string;
  /** Another release than that of this program. */
  readonly release?: string;
  /** Its lines also go to the listeners of events. */
  readonly log: Log;
  /** Other drivers than those of this host: an embedding program may bring, or look into, its own. */
  readonly drivers?: (options: HostDriverOptions) => Promise<HostDrivers>;
  /** Other time than that of this host: what it is, and when a minute has passed. */
  readonly time?: { readonly clock: Clock; readonly minutes: MinuteTimer };
  /** Ends a start that waits for the store of the cluster: it throws the reason. */
  readonly stopStart?: AbortSignal;
  /** Other time limits for servers that images come from. */
  readonly remoteLimits?: Partial<RemoteLimits>;
  /** Records of another server: the daemon answers on its socket and does nothing that could be noticed outside: no TLS listener,
   *  no sockets for guests, nothing started by itself, nothing fetched. */
  readonly dryRun?: Store;
}

export interface Daemon {
  readonly socketPath: string;
  /** host:port of the TLS listener; undefined without one. */
  readonly httpsAddress: () => string | undefined;
  /** host:port of the TLS listener for clients of LXD. */
  readonly lxdHttpsAddress: () => string | undefined;
  readonly runtime: string;
  readonly runtimeReason: string;
  /** Containers keep running. */
  stop(): Promise<void>;
  /** For a host that goes down: containers stop in order, and run again after the next start. */
  shutDown(): Promise<void>;
}
