// A network's bridge in Open vSwitch (`bridge.driver=openvswitch`): the switch's database has its mark and its ports.
import { isOvsBridge, ovs } from '../openvswitch.ts';
import type { NetworkPlan } from './config.ts';

/** The datapath: the kernel, or the switch itself for tests on kernels without one. The latter sees unfinished checksums of containers. */
export type Datapath = 'system' | 'netdev';

export interface OvsBridge {
  /** Empty: it has none. */
  readonly mark: string;
  readonly ports: readonly string[];
}

export async function readOvsBridge(name: string): Promise<OvsBridge | undefined> {
  if (!(await isOvsBridge(name))) return undefined;
  const what = `read the bridge ${name}`;
  const mark = await ovs(what, ['--no-wait', 'br-get-external-id', name, 'gantry']);
  const ports = await ovs(what, ['--no-wait', 'list-ports', name]);
  return { mark: mark.trim(), ports: ports.split('\n').filter((line) => line !== '') };
}

/** Arguments of ovs-vsctl that create the bridge, or change what differs. Pure. */
export function bridgeArguments(plan: NetworkPlan, hwaddr: string, mark: string, datapath: Datapath): string[] {
  const { name, mtu } = plan;
  const make = `--may-exist add-br ${name}`;
  const size = `-- set Interface ${name} mtu_request=${mtu}`;
  const facts = [`external-ids:gantry="${mark}"`, `other-config:hwaddr="${hwaddr}"`];
  const more = datapath === 'system' ? [] : [`datapath_type=${datapath}`];
  return [...make.split(' '), '--', 'set', 'Bridge', name, ...facts, ...more, ...size.split(' ')];
}

/** Arguments that make exactly these of the network's own interfaces ports; those of containers stay. Empty: nothing to do. Pure. */
export function portArguments(name: string, wanted: readonly string[], lost: readonly string[]): string[] {
  return [
    ...lost.filter((port) => !wanted.includes(port)).flatMap((port) => ['--', '--if-exists', 'del-port', name, port]),
    ...wanted.flatMap((port) => ['--', '--may-exist', 'add-port', name, port]),
  ].slice(1);
}

export async function makeOvsBridge(args: readonly string[], name: string, signal?: AbortSignal): Promise<void> {
  await ovs(`make the bridge of network ${name}`, args, signal);
}

/** Idempotent. */
export async function removeOvsBridge(name: string): Promise<void> {
  await ovs(`remove the bridge of network ${name}`, ['--if-exists', 'del-br', name]);
}
