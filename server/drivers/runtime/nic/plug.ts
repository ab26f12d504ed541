// Runs `ip` and `tc` for the interfaces of containers: plugs, unplugs, shapes. commands.ts has their arguments, filters.ts keeps filters.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { exec, ExecError } from '../../../lib/exec.ts';
import type { Log } from '../../../lib/log.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import { DriverError } from '../../driver-error.ts';
import type { NicRun } from '../driver.ts';
import { findProgram } from '../host/programs.ts';
import {
  checkNicNames,
  type InterfaceSettings,
  interfaceCommands,
  ifbName,
  plugNic,
  prepareNic,
  shapeCommands,
  unplugNic,
  vlanName,
} from './commands.ts';
import { attachPort, detachPort, isOvsBridge } from '../../openvswitch.ts';
import { isolatePort } from './filters.ts';
import { addRoutes, dropRoutes, ip } from './routes.ts';
import { checkAddresses, dropHostSide, hasProxies, hostSide, routeThrough } from './routing.ts';
import { textOrNothing } from '../../../lib/shared/missing-files.ts';

const isKernelBridge = (name: string): boolean => existsSync(`/sys/class/net/${name}/bridge`);

export const interfaceExists = (name: string): boolean => existsSync(`/sys/class/net/${name}`);

const limit = { timeoutMs: 15_000 };

/** Runs the program once with lines as its input; errors name the first failing line. */
async function batch(program: 'ip' | 'tc', prefix: readonly string[], lines: readonly string[]): Promise<void> {
  if (lines.length === 0) return;
  const path = findProgram(program) ?? program;
  try {
    await exec([...prefix, path, '-batch', '-'], { ...limit, input: `${lines.join('\n')}\n` });
  } catch (error) {
    if (!(error instanceof ExecError)) throw error;
    const line = lines[Number(/Command failed -:([0-9]+)/.exec(error.stderr)?.[1] ?? 0) - 1];
    const reason = error.stderr.replace(/\n?Command failed -:[0-9]+\s*$/, '').trim();
    const lacks = /Unknown device type|Operation not supported|classifier not found|qdisc kind is unknown/.test(reason);
    throw new DriverError(
      lacks ? 'NotSupported' : 'Failed',
      lacks ? `this kernel lacks what "${program} ${line ?? ''}" needs` : `${program} ${line ?? ''} failed`,
      new Error(reason === '' ? error.message : reason),
    );
  }
}

const insideOf = (pid: number): readonly string[] => [
  findProgram('nsenter') ?? 'nsenter',
  '-t',
  pid.toString(),
  '-n',
  '--',
];

/** Refuses what would fail half way: missing parents, taken names. */
export async function checkNicPlaces(nic: NicRun, pid: number | undefined): Promise<void> {
  checkNicNames(nic);
  const fail = (code: 'NotFound' | 'NotSupported' | 'Exists', why: string): never => {
    throw new DriverError(code, `Device ${nic.device}: ${why}`);
  };
  const below = nic.vlan?.parent ?? (nic.kind === 'physical' ? nic.hostName : (nic.link ?? nic.routing?.parent));
  if (below !== undefined && !interfaceExists(below)) fail('NotFound', `the host has no interface ${below}`);
  if (nic.kind === 'veth' && nic.link !== undefined && !isKernelBridge(nic.link)) {
    if (!(await isOvsBridge(nic.link))) fail('NotFound', `the interface ${nic.link} of the host is no bridge`);
    if (nic.macFilter === true || nic.ipFilter !== undefined || nic.isolated === true)
      fail('NotSupported', `security.* cannot hold on ${nic.link}: frames of Open vSwitch pass no filter of nftables`);
  }
  if (nic.kind !== 'physical' && interfaceExists(nic.hostName)) {
    fail('Exists', `the interface ${nic.hostName} exists already on the host`);
  }
  if (pid !== undefined && namesInside(pid).includes(nic.name)) {
    fail('Exists', `the container has an interface ${nic.name} already`);
  }
  if (nic.vlan === undefined || interfaceExists(vlanName(nic))) await checkAddresses(nic);
}

function namesInside(pid: number): readonly string[] {
  return readFileSync(`/proc/${pid}/net/dev`, 'utf8')
    .split('\n')
    .flatMap((line) => /^\s*([^\s:]+):/.exec(line)?.[1] ?? []);
}

/** Prepares the interface's base: a VLAN, the address of a virtual function. */
export async function prepareHost(nic: NicRun, mark: string): Promise<void> {
  await batch('ip', [], prepareNic(nic, interfaceExists, mark));
}

/** All or nothing. */
export async function plugInto(nic: NicRun, pid: number, tag: string): Promise<void> {
  await prepareHost(nic, markOf(tag));
  const isOnSwitch = nic.link !== undefined && nic.kind === 'veth' && !isKernelBridge(nic.link);
  const plan = plugNic(nic, pid, isOnSwitch);
  try {
    await batch('ip', [], plan.host);
    if (isOnSwitch) await attachPort(nic.link ?? '', nic.hostName);
    await batch('ip', insideOf(pid), plan.inside);
    if (nic.rates !== undefined) await shape(nic, tag);
    await joinHost(nic);
  } catch (error) {
    await unplugFrom(nic, pid).catch(() => {});
    if (nic.kind !== 'physical' && interfaceExists(nic.hostName)) {
      await batch('ip', [], [`link delete dev ${nic.hostName}`]).catch(() => {});
    }
    throw error;
  }
}

/** The host's side of an interface that is there: its routes, and what a router of its addresses needs. Idempotent. */
export async function joinHost(nic: NicRun): Promise<void> {
  await routeThrough(nic);
  await addRoutes(nic);
  await batch('ip', [], hostSide(nic));
}

/** After a start of the daemon: routed nics have the host's side, whatever became of it meanwhile. */
export async function rejoinHost(nics: readonly NicRun[], log: Log): Promise<void> {
  for (const nic of nics) {
    if (nic.routing === undefined) continue;
    await joinHost(nic).catch((error: unknown) =>
      log.warn('the host may not reach a container', { interface: nic.hostName, reason: errorText(error) }),
    );
  }
}

/** Puts the host's end on its bridge again: it leaves one that is deleted, also when another of that name is made. Never throws. */
export async function rejoinBridge(nic: NicRun, log: Log): Promise<void> {
  const { kind, link, hostName } = nic;
  if (kind !== 'veth' || link === undefined || !interfaceExists(hostName) || !interfaceExists(link)) return;
  if (existsSync(`/sys/class/net/${hostName}/master`)) return;
  try {
    if (isKernelBridge(link)) await batch('ip', [], [`link set dev ${hostName} master ${link}`]);
    else if (await isOvsBridge(link)) await attachPort(link, hostName);
    else return;
    isolatePort(nic);
    log.warn(`${hostName} was not on the bridge ${link}, and is put there again`);
  } catch (error) {
    log.warn(`${hostName} cannot be put on the bridge ${link} again: ${errorText(error)}`);
  }
}

/** Takes away what does not go with the interface. Idempotent. */
export async function leaveHost(nic: NicRun): Promise<void> {
  await dropRoutes(nic);
  for (const line of dropHostSide(nic)) {
    await ip(line.split(' '), [0, 1, 2, 255]);
  }
}

/** After its interface has vanished: Open vSwitch would keep the port, and reuse it for any interface of that name. Idempotent. */
export async function leaveSwitch(nic: NicRun): Promise<void> {
  if (nic.kind !== 'veth' || nic.link === undefined || isKernelBridge(nic.link) || !interfaceExists(nic.link)) return;
  if (await isOvsBridge(nic.link)) await detachPort(nic.link, nic.hostName);
}

/** Idempotent. */
export async function unplugFrom(nic: NicRun, pid: number): Promise<void> {
  await unshape(nic);
  await leaveHost(nic);
  await leaveSwitch(nic);
  if (!isPlugged(nic, pid)) return;
  const plan = unplugNic(nic, process.pid);
  await (nic.kind === 'veth' ? batch('ip', [], plan.host) : batch('ip', insideOf(pid), plan.inside));
}

export const isPlugged = (nic: NicRun, pid: number): boolean =>
  nic.kind === 'veth' ? interfaceExists(nic.hostName) : namesInside(pid).includes(nic.name);

/** Moves a host interface back from a network namespace kept in a file. */
export async function returnToHost(nic: NicRun, namespaceFile: string): Promise<void> {
  const enter = [findProgram('nsenter') ?? 'nsenter', `--net=${namespaceFile}`, '--'];
  await batch('ip', enter, unplugNic(nic, process.pid).inside);
}

export const markOf = (tag: string): string => `gantry:nic:${tag}`;

/** Sets the rates of a nic, replacing earlier ones. */
export async function shape(nic: NicRun, tag: string): Promise<void> {
  if (nic.kind !== 'veth') return;
  await unshape(nic);
  const commands = shapeCommands(nic, markOf(tag));
  await batch('ip', [], commands.ip);
  await batch('tc', [], commands.tc);
}

async function unshape(nic: NicRun): Promise<void> {
  if (nic.kind !== 'veth') return;
  const dev = nic.hostName;
  if (interfaceExists(dev)) {
    for (const kind of ['root', 'ingress']) {
      await exec([findProgram('tc') ?? 'tc', 'qdisc', 'del', 'dev', dev, kind], { ...limit, okCodes: [0, 1, 2] });
    }
  }
  await removeShape(dev);
}

/** Removes what outlives the interface itself. Idempotent. */
export async function removeShape(hostName: string): Promise<void> {
  const ifb = ifbName(hostName);
  if (interfaceExists(ifb)) await batch('ip', [], [`link delete dev ${ifb}`]);
}

/** After a crash: removes shaping interfaces of this daemon that belong to none of the given host interfaces. */
export async function sweepShapes(hostNames: readonly string[], tag: string, log: Log): Promise<void> {
  const keptIfbs = new Set(hostNames.map(ifbName));
  try {
    for (const name of readdirSync('/sys/class/net')) {
      if (!name.startsWith('gtifb') || keptIfbs.has(name) || aliasOf(name) !== markOf(tag)) continue;
      await batch('ip', [], [`link delete dev ${name}`]);
    }
  } catch (error) {
    log.warn('cannot remove left-over limits of interfaces', { reason: errorText(error) });
  }
}

const aliasOf = (name: string): string => textOrNothing(`/sys/class/net/${name}/ifalias`).trim();

/** Removes a VLAN interface that this daemon made and that has no users left. */
export async function removeVlan(nic: NicRun, tag: string): Promise<void> {
  if (nic.vlan === undefined) return;
  const name = vlanName(nic);
  if (!interfaceExists(name) || aliasOf(name) !== markOf(tag)) return;
  if (readdirSync(`/sys/class/net/${name}`).some((entry) => entry.startsWith('upper_'))) return;
  if (nic.routing !== undefined && (await hasProxies(name))) return;
  await batch('ip', [], [`link delete dev ${name}`]);
}

export function readInterfaceSettings(name: string): InterfaceSettings {
  const read = (file: string): string => readFileSync(`/sys/class/net/${name}/${file}`, 'utf8').trim();
  return { hwaddr: read('address'), mtu: Number(read('mtu')) };
}

export async function restoreInterface(name: string, before: InterfaceSettings): Promise<void> {
  if (interfaceExists(name)) await batch('ip', [], interfaceCommands(name, before));
}
