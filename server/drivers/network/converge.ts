// Makes the host match one network plan step by step: bridge, switches, addresses, routes, members, tunnels, firewall, dnsmasq.
// What to do if a step fails is the caller's decision.
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { Log } from '../../lib/log.ts';
import { driverErrors } from '../driver-error.ts';
import type { NftTables } from '../nft-tables.ts';
import { planNetwork, type NetworkPlan } from './config.ts';
import { dnsmasqArguments, isForeignLease, renderHosts, withoutLeases } from './dnsmasq/format.ts';
import type { NetworkSpec } from './driver.ts';
import { findDnsmasq, sameArguments, startDnsmasq, stopDnsmasq } from './dnsmasq/process.ts';
import { passDocker } from './docker-user.ts';
import { firewallTable, renderFirewall, renderRulesChange } from './firewall.ts';
import { ipBatch, readHwaddr, readLink, readLinks, readRoutes } from './host-tools.ts';
import { addressCommands, bridgeCommands, memberCommands, routeCommands, withPorts, type Link } from './ip-commands.ts';
import { editLeases } from './dnsmasq/lease-file.ts';
import type { NetworkFiles, NetworkRecord } from './network-files.ts';
import { bridgeArguments, makeOvsBridge, portArguments, readOvsBridge, type Datapath } from './ovs-bridge.ts';
import { ovs } from '../openvswitch.ts';
import { applySwitches } from './sysctls.ts';
import { mayHaveTunnels, ownTunnels, tunnelLines } from './tunnels.ts';

export interface ConvergeDeps {
  readonly files: NetworkFiles;
  readonly log: Log;
  readonly datapath: Datapath;
  readonly tables: NftTables;
}

/** Replaces the rules of a network that is up, and remembers by which ACLs. */
export async function convergeRules(deps: ConvergeDeps, spec: NetworkSpec): Promise<void> {
  const { files } = deps;
  const record = await files.read(spec.name);
  if (record === undefined || readHwaddr(spec.name) === undefined)
    throw driverErrors.notFound(`network ${spec.name} is not up: its rules cannot be set`);
  const plan = planNetwork(spec);
  const change = renderRulesChange(plan);
  // The table may lack the chain, or be gone: somebody flushed the rules of the host.
  const isChanged =
    change !== undefined &&
    (await setFirewall(deps, plan, change).then(
      () => true,
      () => false,
    ));
  if (!isChanged) await setFirewall(deps, plan, renderFirewall(plan));
  await files.write(spec.name, { ...record, acls: spec.acls ?? [] });
}

export async function converge(deps: ConvergeDeps, spec: NetworkSpec, signal?: AbortSignal): Promise<void> {
  const { files } = deps;
  const plan = planNetwork(spec);
  const before = await files.read(plan.name);
  const current = await readLink(plan.name, signal);
  const ports = plan.driver === 'openvswitch' ? ((await readOvsBridge(plan.name))?.ports ?? []) : [];
  const others = needsLinks(plan, before) ? withPorts(await readLinks(signal), plan.name, ports) : [];
  checkMembers(plan, others);
  const record: NetworkRecord = {
    config: spec.config,
    tunnels: plan.tunnels.length > 0 || mayHaveTunnels(before),
    acls: spec.acls ?? [],
    // Until the old members have left, both are remembered.
    external: [...new Set([...(before?.external ?? []), ...plan.external])],
    hosts: before?.hosts ?? [],
    creating: current === undefined,
  };
  await files.write(plan.name, record);
  await all([
    setLinks(deps, plan, { current, others, last: before?.external ?? [] }, signal),
    setFirewall(deps, plan, renderFirewall(plan), signal),
    passDocker(
      plan.name,
      plan.families.some(({ firewall, routing }) => firewall && routing),
      deps.log,
    ),
  ]);
  signal?.throwIfAborted();
  await ensureDnsmasq(deps, plan, record, current === undefined);
  const tunnels = plan.tunnels.length > 0;
  await files.write(plan.name, { ...record, external: plan.external, tunnels, creating: false });
}

/** `rules`: those of the whole table, or a change of it. */
async function setFirewall(
  { tables }: ConvergeDeps,
  plan: NetworkPlan,
  rules: string,
  signal?: AbortSignal,
): Promise<void> {
  const what = `set the firewall of network ${plan.name}`;
  await tables.set(what, [firewallTable(plan.name)], rules, () => renderFirewall(plan), signal);
}

/** Waits for all, then throws the first error, so that nothing still runs while the caller undoes the changes. */
async function all(work: readonly Promise<void>[]): Promise<void> {
  for (const result of await Promise.allSettled(work)) {
    if (result.status === 'rejected') throw result.reason;
  }
}

function needsLinks(plan: NetworkPlan, before: NetworkRecord | undefined): boolean {
  return plan.external.length + plan.tunnels.length + (before?.external.length ?? 0) > 0 || mayHaveTunnels(before);
}

function checkMembers(plan: NetworkPlan, links: readonly Link[]): void {
  for (const name of plan.external) {
    const what = `network ${plan.name}: bridge.external_interfaces`;
    const link = links.find((entry) => entry.name === name);
    if (link === undefined) throw driverErrors.notFound(`${what}: this host has no interface ${name}`);
    if (link.master !== '' && link.master !== plan.name) {
      throw driverErrors.inUse(`${what}: ${name} belongs to ${link.master}`);
    }
    const address = link.addresses.find((entry) => entry.scope === 'global');
    if (address !== undefined) throw driverErrors.inUse(`${what}: ${name} has the address ${address.address}`);
  }
}

interface BridgeLinks {
  readonly current: Link | undefined;
  readonly others: readonly Link[];
  /** Members by the config before. */
  readonly last: readonly string[];
}

async function setLinks(
  deps: ConvergeDeps,
  plan: NetworkPlan,
  seen: BridgeLinks,
  signal: AbortSignal | undefined,
): Promise<void> {
  const { mark, ownerId } = deps.files;
  const what = `set up the bridge of network ${plan.name}`;
  const hwaddr = plan.hwaddr === '' ? await stableHwaddr(ownerId, plan.name) : plan.hwaddr;
  if (plan.driver === 'openvswitch')
    await makeOvsBridge(bridgeArguments(plan, hwaddr, mark, deps.datapath), plan.name, signal);
  await ipBatch(what, bridgeCommands(plan, hwaddr, seen.current, mark), signal);
  await applySwitches(plan);
  const routes = seen.current === undefined ? [] : await staticRoutes(plan.name, signal);
  await ipBatch(
    what,
    [
      ...addressCommands(plan, seen.current),
      ...routeCommands(plan, routes),
      ...memberCommands(plan, seen.last, seen.others),
      ...(await tunnelChanges(plan, mark, seen.others, signal)),
    ],
    signal,
  );
  if (plan.driver === 'openvswitch') await setPorts(plan, mark, seen, signal);
}

async function setPorts(
  plan: NetworkPlan,
  mark: string,
  seen: BridgeLinks,
  signal: AbortSignal | undefined,
): Promise<void> {
  const wanted = [...plan.external, ...plan.tunnels.map(({ link }) => link)];
  const lost = [...seen.last, ...ownTunnels(plan.name, mark, seen.others).map(({ name }) => name)];
  const args = portArguments(plan.name, wanted, lost);
  if (args.length > 0) await ovs(`set the ports of network ${plan.name}`, args, signal);
}

/** Stable over restarts. Otherwise the bridge takes the address of its lowest port, and clients lose their gateway. */
async function stableHwaddr(ownerId: string, name: string): Promise<string> {
  const machine = await readFile('/etc/machine-id', 'utf8').catch(() => '');
  const hash = createHash('sha256').update(`${machine}\n${ownerId}\n${name}`).digest('hex');
  return `00:16:3e:${hash.slice(0, 2)}:${hash.slice(2, 4)}:${hash.slice(4, 6)}`;
}

async function staticRoutes(name: string, signal: AbortSignal | undefined): Promise<string[]> {
  const read = async (family: '-4' | '-6'): Promise<string[]> =>
    (await readRoutes(family, ['dev', name, 'proto', 'static'], signal)).map((route) => route.dst);
  return (await Promise.all([read('-4'), read('-6')])).flat();
}

async function tunnelChanges(
  plan: NetworkPlan,
  mark: string,
  links: readonly Link[],
  signal: AbortSignal | undefined,
): Promise<string[]> {
  const device = plan.tunnels.length === 0 ? '' : await defaultDevice(plan, signal);
  return tunnelLines(plan, mark, links, device);
}

async function defaultDevice(plan: NetworkPlan, signal: AbortSignal | undefined): Promise<string> {
  const needy = plan.tunnels.find(
    (tunnel) => tunnel.protocol === 'vxlan' && tunnel.remote === '' && tunnel.interface === '',
  );
  if (needy === undefined) return '';
  const routes = await readRoutes('-4', ['default'], signal);
  const device = routes[0]?.dev;
  if (device === undefined || device === '') {
    throw driverErrors.failed(
      `network ${plan.name}: tunnel ${needy.link} needs its interface set: this host has no default route`,
    );
  }
  return device;
}

/** Keeps one that runs with the same arguments, else replaces it. `isNewBridge`: sockets of an older one are bound to a
 *  bridge that is gone. */
async function ensureDnsmasq(
  deps: ConvergeDeps,
  plan: NetworkPlan,
  record: NetworkRecord,
  isNewBridge: boolean,
): Promise<void> {
  const { files, log } = deps;
  const places = await files.places(plan.name, plan.rawDnsmasq);
  await files.writeHosts(plan.name, renderHosts(record.hosts, plan.dnsMode));
  const running = findDnsmasq(places.pidFile);
  const wanted = dnsmasqArguments(plan, places);
  const isNeeded = plan.families.length > 0;
  if (isNeeded && !isNewBridge && running !== undefined && sameArguments(running.args, wanted)) return;
  if (running !== undefined) log.info('replacing dnsmasq of network', { network: plan.name, pid: running.pid });
  await stopDnsmasq(places.pidFile);
  if (!isNeeded) return;
  await editLeases(places.leaseFile, (text) => withoutLeases(text, (lease) => isForeignLease(plan, lease)));
  await startDnsmasq(plan.name, wanted);
}
