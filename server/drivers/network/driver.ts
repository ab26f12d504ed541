// The contract of network drivers: make a managed network on this host match its config, and read its state.
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

export type NetworkState = Omit<InterfaceState, 'host_name'>;

export interface HostInterface {
  readonly name: string;
  readonly type: 'bridge' | 'physical' | 'loopback' | 'vlan' | 'bond' | 'unknown';
  /** Addresses and the length of their subnet: 10.0.3.1/24. Addresses of the link itself are left out. */
  readonly addresses?: readonly string[];
}

export interface NetworkDriver {
  readonly name: 'bridge' | 'sim';
  /** Resolves `auto` (and at creation missing) addresses to free subnets. Pure apart from looking at the host and `taken`. */
  fillConfig(
    config: Readonly<Record<string, string>>,
    options: { readonly creating: boolean; readonly taken: readonly string[] },
  ): Promise<Record<string, string>>;
  /** Creates or converges bridge, addresses, firewall, DHCP/DNS to the spec. Idempotent; re-attaches to a DHCP server of an
   *  earlier daemon that still fits. On a throw nothing new is left behind. */
  up(spec: NetworkSpec, signal: AbortSignal): Promise<void>;
  /** Replaces the rules of a network that is up, all or none, and nothing else: for a change of its ACLs. */
  setRules(spec: NetworkSpec): Promise<void>;
  /** Removes everything `up` made. Idempotent. */
  down(name: string): Promise<void>;
  /** Replaces the static leases and names of a network. Takes effect without interrupting service. */
  setHosts(name: string, hosts: readonly NetworkHost[]): Promise<void>;
  /** Drops the dynamic leases of a hardware address that is gone for good. */
  releaseLease(name: string, hwaddr: string): Promise<void>;
  leases(name: string): Promise<readonly DynamicLease[]>;
  /** Any interface of the host, managed or not; undefined when there is none of that name. */
  state(name: string): Promise<NetworkState | undefined>;
  interfaces(): Promise<readonly HostInterface[]>;
  /** The hardware address that an interface of the host has now, managed or not; undefined when there is none of that name. */
  hwaddr(name: string): string | undefined;
  /** Lets go of resources of this process; networks stay up. */
  close(): Promise<void>;
}
