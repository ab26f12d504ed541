// The parts of the daemon that most services need: each picks its own.
import type { RuntimeDriver } from '../../drivers/runtime/driver.ts';
import type { NetworkDriver } from '../../drivers/network/driver.ts';
import type { EventHub } from '../../events/hub.ts';
import type { Clock } from '../../lib/clock.ts';
import type { KeyedMutex } from '../../lib/keyed-mutex.ts';
import type { Log } from '../../lib/log.ts';
import type { Cluster } from '../../membership/cluster.ts';
import type { Operations } from '../../operations/manager.ts';
import type { Sagas } from '../../operations/saga.ts';
import type { Records } from '../../records/records.ts';

export interface ServiceParts {
  readonly records: Records;
  readonly log: Log;
  readonly events: EventHub;
  readonly locks: KeyedMutex;
  readonly clock: Clock;
  readonly operations: Operations;
  readonly sagas: Sagas;
  readonly cluster: Cluster;
  readonly runtime: RuntimeDriver;
  readonly network: NetworkDriver;
}
