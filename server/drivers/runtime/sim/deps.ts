// The dependencies of the simulated runtime, and its additional actions for tests.
import type { HostFacts } from '../cgroup/limits.ts';
import type { InterfaceAddress } from '../../interface-state.ts';
import type { NicRun } from '../../device-parts.ts';
import type { RunConfig, RuntimeDriver } from '../driver.ts';
import type { SimFaults } from './faults.ts';
import type { SimRunningRecords } from './running-record.ts';

export interface SimDeps {
  /** Its state directory: a second runtime opened here finds the same containers. */
  readonly dir: string;
  /** Replaces files in `dir`. */
  readonly states?: SimRunningRecords;
  /** The simulated host's resources; default: 4 processors, 8 GiB. */
  readonly host?: HostFacts;
  /** Addresses of an interface, e.g. from a simulated network's leases. Default: only the link-local one. */
  readonly addressesOf?: (nic: NicRun) => readonly InterfaceAddress[];
  readonly faults?: SimFaults;
  /** Milliseconds since the epoch; for tests of metrics. */
  readonly now?: () => number;
}

/** A runtime, and the actions that a test performs "inside" containers. */
export interface SimRuntime extends RuntimeDriver {
  readonly name: 'sim';
  readonly faults: SimFaults;
  /** The container shuts itself down. Throws NotFound if it does not run. */
  poweroff(name: string): Promise<void>;
  reboot(name: string): Promise<void>;
  limits(name: string): Readonly<Record<string, string>>;
  /** Its current run config, with plugged devices. */
  runOf(name: string): RunConfig;
}
