// The state of one network interface as clients see it (spec 2.6); shared by runtimes and networks.

export interface InterfaceAddress {
  readonly family: 'inet' | 'inet6';
  readonly address: string;
  /** Prefix length as text. */
  readonly netmask: string;
  readonly scope: 'global' | 'local' | 'link';
}

export interface InterfaceState {
  readonly addresses: readonly InterfaceAddress[];
  readonly counters: {
    readonly bytes_received: number;
    readonly bytes_sent: number;
    readonly packets_received: number;
    readonly packets_sent: number;
    readonly errors_received: number;
    readonly errors_sent: number;
    readonly packets_dropped_inbound: number;
    readonly packets_dropped_outbound: number;
  };
  readonly hwaddr: string;
  readonly host_name: string;
  readonly mtu: number;
  readonly state: 'up' | 'down';
  readonly type: 'broadcast' | 'loopback' | 'point-to-point' | 'unknown';
}
