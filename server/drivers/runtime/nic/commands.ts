// Renders the `ip` and `tc` commands for one network interface of a container. Pure: builds text, runs nothing.
import { createHash } from 'node:crypto';
import { assertNever } from '../../../lib/shared/assert-never.ts';
import { driverErrors } from '../../driver-error.ts';
import type { NicRun } from '../driver.ts';

/** Lines of `ip -batch`, first for the host, then for the container's network namespace. */
export interface IpPlan {
  readonly host: readonly string[];
  readonly inside: readonly string[];
}

const word = /^[^\s/:#"'\\]{1,15}$/;

/** Throws DriverError Invalid for names that the programs would misread. */
export function checkNicNames(nic: NicRun): void {
  for (const name of [nic.name, nic.hostName, nic.link, nic.routing?.parent]) {
    if (name === undefined) continue;
    if (!word.test(name) || name === '.' || name === '..') {
      throw driverErrors.invalid(
        `Device ${nic.device}: interface names have 1 to 15 characters without white space, "/", ":", "#" and quotes; ${JSON.stringify(name)} is none`,
      );
    }
  }
}

/** Moves the interface into the network namespace of `pid`. `isOnSwitch`: other code attaches it to its bridge. */
export function plugNic(nic: NicRun, pid: number, isOnSwitch = false): IpPlan {
  const mtu = nic.mtu === undefined ? '' : ` mtu ${nic.mtu}`;
  const address = nic.hwaddr === undefined ? '' : ` address ${nic.hwaddr}`;
  const inside = insideCommands(nic);
  switch (nic.kind) {
    case 'veth':
      return {
        host: [
          `link add name ${nic.hostName}${mtu} type veth peer name ${nic.name}${address}${mtu} netns ${pid}`,
          ...(nic.link === undefined || isOnSwitch ? [] : [`link set dev ${nic.hostName} master ${nic.link}`]),
          `link set dev ${nic.hostName} up`,
        ],
        inside,
      };
    case 'macvlan':
      return {
        host: [
          `link add name ${nic.hostName} link ${nic.link ?? ''}${address}${mtu} type macvlan mode bridge`,
          `link set dev ${nic.hostName} netns ${pid} name ${nic.name}`,
        ],
        inside,
      };
    case 'ipvlan':
      return {
        host: [
          `link add name ${nic.hostName} link ${nic.link ?? ''}${mtu} type ipvlan mode ${nic.mode ?? 'l3s'} bridge`,
          `link set dev ${nic.hostName} netns ${pid} name ${nic.name}`,
        ],
        inside,
      };
    case 'physical':
      return {
        host: [...interfaceCommands(nic.hostName, nic), `link set dev ${nic.hostName} netns ${pid} name ${nic.name}`],
        inside,
      };
    default:
      return assertNever(nic.kind);
  }
}

/** Default routes are appended: one that is there stays the first. */
function insideCommands({ name, inside }: NicRun): readonly string[] {
  const { addresses = [], gateways = {} } = inside ?? {};
  const ways = Object.entries(gateways).map(([family, via]) => {
    const hop = via === 'dev' ? '' : ` via ${via}`;
    return `route append ${family === 'ipv6' ? '::/0' : '0.0.0.0/0'}${hop} dev ${name}${hop === '' ? '' : ' onlink'}`;
  });
  return [
    ...addresses.map((address) => `address add ${address} dev ${name}${address.includes(':') ? ' nodad' : ''}`),
    `link set dev ${name} up`,
    ...ways,
  ];
}

/** The interface of a VLAN that the nic sits on. */
export const vlanName = (nic: NicRun): string =>
  nic.kind === 'physical' ? nic.hostName : (nic.link ?? nic.routing?.parent ?? '');

/** `hostPid`: a process in the host's network namespace, where physical interfaces return to. */
export function unplugNic(nic: NicRun, hostPid: number): IpPlan {
  switch (nic.kind) {
    case 'veth':
      return { host: [`link delete dev ${nic.hostName}`], inside: [] };
    case 'macvlan':
    case 'ipvlan':
      return { host: [], inside: [`link delete dev ${nic.name}`] };
    case 'physical':
      return {
        host: [],
        inside: [`link set dev ${nic.name} down`, `link set dev ${nic.name} netns ${hostPid} name ${nic.hostName}`],
      };
    default:
      return assertNever(nic.kind);
  }
}

export interface InterfaceSettings {
  readonly hwaddr?: string;
  readonly mtu?: number;
}

/** Gives a host interface an address and size; it must be down for the first. */
export function interfaceCommands(name: string, { hwaddr, mtu }: InterfaceSettings): readonly string[] {
  return [
    ...(hwaddr === undefined ? [] : [`link set dev ${name} down`, `link set dev ${name} address ${hwaddr}`]),
    ...(mtu === undefined ? [] : [`link set dev ${name} mtu ${mtu}`]),
  ];
}

/** Commands that prepare the host for the interface, without those already done. */
export function prepareNic(nic: NicRun, exists: (name: string) => boolean, mark: string): readonly string[] {
  const lines: string[] = [];
  if (nic.vlan !== undefined) {
    const name = vlanName(nic);
    const { parent, id } = nic.vlan;
    if (!exists(name)) {
      lines.push(
        `link add link ${parent} name ${name} type vlan id ${id}`,
        `link set dev ${name} alias ${mark}`,
        `link set dev ${name} up`,
      );
    }
  }
  if (nic.virtualFunction !== undefined && nic.hwaddr !== undefined) {
    const { parent, index } = nic.virtualFunction;
    lines.push(`link set dev ${parent} vf ${index} mac ${nic.hwaddr}`);
  }
  return lines;
}

const short = (text: string): string => createHash('sha256').update(text).digest('hex').slice(0, 8);

/** The interface that shapes a container's outgoing traffic. */
export const ifbName = (hostName: string): string => `gtifb${short(hostName)}`;

/** Lines of `ip -batch` and `tc -batch` that apply the rates of a veth without any. */
export function shapeCommands(
  nic: NicRun,
  mark: string,
): { readonly ip: readonly string[]; readonly tc: readonly string[] } {
  const { ingress, egress } = nic.rates ?? {};
  const ifb = ifbName(nic.hostName);
  const ip: string[] = [];
  const tc: string[] = [];
  // Traffic into the container leaves the host through the veth's host end.
  if (ingress !== undefined) tc.push(`qdisc replace dev ${nic.hostName} root ${bucket(ingress)}`);
  if (egress !== undefined) {
    // The kernel ignores an alias at the creation.
    ip.push(`link add name ${ifb} type ifb`, `link set dev ${ifb} alias ${mark} up`);
    tc.push(
      `qdisc replace dev ${ifb} root ${bucket(egress)}`,
      `qdisc add dev ${nic.hostName} handle ffff: ingress`,
      `filter add dev ${nic.hostName} parent ffff: protocol all u32 match u32 0 0 action mirred egress redirect dev ${ifb}`,
    );
  }
  return { ip, tc };
}

/** A bucket must hold the traffic between two clock ticks, and at least a large packet. */
function bucket(bits: number): string {
  const burst = Math.max(16 * 1024, Math.ceil(bits / 8 / 100));
  return `tbf rate ${bits}bit burst ${burst}b latency 50ms`;
}
