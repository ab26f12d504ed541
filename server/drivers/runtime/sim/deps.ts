// The dependencies of the simulated runtime, and the actions it offers tests beyond a runtime's.
import type { HostFacts } from '../cgroup/limits.ts';
import type { InterfaceAddress } from '../../interface-state.ts';
import type { NicRun } from '../../device-parts.ts';
import type { RunConfig, RuntimeDriver } from '../driver.ts';
import type { SimFaults } from './faults.ts';
import type { SimRunningRecords } from './running-record.ts';

export interface SimDeps {
  /** Where its state lives: a second runtime opened here later finds the same containers. */
  readonly dir: string;
  /** Instead of files in `dir`. */
  readonly states?: SimRunningRecords;
  /** What the simulated host has; default: 4 processors, 8 GiB. */
  readonly host?: HostFacts;
  /** Addresses that an interface got, e.g. from a simulated network's leases. Default: only the link-local one. */
  readonly addressesOf?: (nic: NicRun) => readonly InterfaceAddress[];
  readonly faults?: SimFaults;
  /** Milliseconds since the epoch; for tests of figures. */
  readonly now?: () => number;
}

/** A runtime, and the actions that a test performs "inside" containers. */
export interface SimRuntime extends RuntimeDriver {
  readonly name: 'sim';
  readonly faults: SimFaults;
  /** The container shuts itself down. Throws NotFound when it does not run. */
  poweroff(name: string): Promise<void>;
  /** The container reboots itself. */
  reboot(name: string): Promise<void>;
  limits(name: string): Readonly<Record<string, string>>;
  /** How it runs, with the devices in force. */
  runOf(name: string): RunConfig;
}
