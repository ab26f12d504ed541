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
  /** Where unmodified LXD clients are served, in LXD's dialect; absent: nowhere. */
  readonly lxd?: LxdListeners;
  readonly group?: string;
  /** No container may be privileged. */
  readonly unprivilegedOnly?: boolean;
  /** The etcd for the records; absent: the store that the state directory last used. */
  readonly etcd?: EtcdChoice;
  /** The etcd for the records of a cluster that this host founds. */
  readonly clusterStore?: EtcdChoice;
  /** The etcd program for a cluster whose members run it; default: the one in PATH. */
  readonly etcdPath?: string;
  /** Pretends to be another release than this program's. */
  readonly release?: string;
  /** Its lines also go to event listeners. */
  readonly log: Log;
  /** Replaces this host's drivers: an embedding program may bring, or inspect, its own. */
  readonly drivers?: (options: HostDriverOptions) => Promise<HostDrivers>;
  /** Replaces this host's clock and minute timer. */
  readonly time?: { readonly clock: Clock; readonly minutes: MinuteTimer };
  /** Ends a start that waits for the store of the cluster: it throws the signal's reason. */
  readonly stopStart?: AbortSignal;
  /** Replaces time limits for image servers. */
  readonly remoteLimits?: Partial<RemoteLimits>;
  /** Records of another server: the daemon answers on its socket and has no effect outside: no TLS listener, no sockets for guests, no
   *  scheduled work, no downloads. */
  readonly dryRun?: Store;
}

export interface Daemon {
  readonly socketPath: string;
  /** host:port of the TLS listener; undefined without one. */
  readonly httpsAddress: () => string | undefined;
  /** host:port of the TLS listener for LXD clients. */
  readonly lxdHttpsAddress: () => string | undefined;
  readonly runtime: string;
  readonly runtimeReason: string;
  /** Containers keep running. */
  stop(): Promise<void>;
  /** For a host shutdown: containers stop in order, and run again after the next start. */
  shutDown(): Promise<void>;
}
