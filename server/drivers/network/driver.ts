// The contract of network drivers: makes a managed network on this host match its config, and reads its state.
import type { NetworkState as State } from '../../api/network/network.ts';
import type { InterfaceState } from '../interface-state.ts';
import type { NamedAcl } from './acl-rules.ts';

export interface NetworkSpec {
  readonly name: string;
  /** Validated config with every `auto` already resolved by fillConfig. */
  readonly config: Readonly<Record<string, string>>;
  /** The ACLs that `security.acls` names. */
  readonly acls?: readonly NamedAcl[];
}

/** A container's nic on a network, for static leases and names. */
export interface NetworkHost {
  readonly hwaddr: string;
  /** Also the key: one nic of one container. */
  readonly id: string;
  readonly hostname: string;
  readonly ipv4?: string;
  readonly ipv6?: string;
}

export interface DynamicLease {
  readonly hostname: string;
  readonly hwaddr: string;
  readonly address: string;
}

/** An interface has the part of its kind, if any. */
export type NetworkState = Omit<InterfaceState, 'host_name' | 'counters'> &
  Pick<State, 'counters' | 'bridge' | 'bond' | 'vlan'>;

export interface HostInterface {
  readonly name: string;
  readonly type: 'bridge' | 'physical' | 'loopback' | 'vlan' | 'bond' | 'unknown';
  /** Addresses with the length of their subnet: 10.0.3.1/24. Link-local addresses are omitted. */
  readonly addresses?: readonly string[];
}

export interface NetworkDriver {
  readonly name: 'bridge' | 'sim';
  /** Resolves `auto` (and during creation missing) addresses to free subnets. Pure, except that it reads the host and `taken`. */
  fillConfig(
    config: Readonly<Record<string, string>>,
    options: { readonly creating: boolean; readonly taken: readonly string[] },
  ): Promise<Record<string, string>>;
  /** Creates the bridge, addresses, firewall, DHCP/DNS, or makes them match the spec. Idempotent; keeps a DHCP server of an earlier daemon
   *  that still fits. A throw leaves nothing new behind. */
  up(spec: NetworkSpec, signal: AbortSignal): Promise<void>;
  /** Whether its bridge is there with its addresses, and its server of addresses and names runs, if it needs one: somebody may have removed
   *  them since `up`. Cheap. */
  isServing(spec: NetworkSpec): Promise<boolean>;
  /** Replaces only the rules of a network that is up, all or none, after a change of its ACLs. */
  setRules(spec: NetworkSpec): Promise<void>;
  /** Removes everything that `up` created. Idempotent. */
  down(name: string): Promise<void>;
  /** Replaces the static leases and names of a network. Takes effect without interrupting service. */
  setHosts(name: string, hosts: readonly NetworkHost[]): Promise<void>;
  /** Drops the dynamic leases of a hardware address that will not return. */
  releaseLease(name: string, hwaddr: string): Promise<void>;
  leases(name: string): Promise<readonly DynamicLease[]>;
  /** State of any interface of the host, managed or not; undefined if the name does not exist. */
  state(name: string): Promise<NetworkState | undefined>;
  interfaces(): Promise<readonly HostInterface[]>;
  /** The current hardware address of a host interface, managed or not; undefined if the name does not exist. */
  hwaddr(name: string): string | undefined;
  /** Releases resources of this process; networks stay up. */
  close(): Promise<void>;
}
