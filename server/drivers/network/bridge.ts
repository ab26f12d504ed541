// The network driver for a real host: Linux bridges, nftables and dnsmasq. It handles order, locks and rollback; the steps are in
// converge.ts, leases in bridge-leases.ts, all texts in the pure files beside it.
import { KeyedMutex } from '../../lib/keyed-mutex.ts';
import { errorText } from '../../lib/shared/reason.ts';
import { type Log, logFailure } from '../../lib/log.ts';
import { withRevert } from '../../lib/revert.ts';
import { driverErrors } from '../driver-error.ts';
import { NftTables } from '../nft-tables.ts';
import { listLeases, releaseLeases, setReservations } from './bridge-leases.ts';
import { planNetwork } from './config.ts';
import { converge, convergeRules, type ConvergeDeps } from './converge.ts';
import { findDnsmasq, stopDnsmasq } from './dnsmasq/process.ts';
import type { NetworkDriver, NetworkSpec } from './driver.ts';
import { fillNetworkConfig } from './fill-config.ts';
import { passDocker } from './docker-user.ts';
import { firewallTable, renderFirewall } from './firewall.ts';
import { findTool, ipBatch, readHwaddr, readLink, readLinks, readRoutes, runTool } from './host-tools.ts';
import { addressCommands, hostInterface, linkState, withPorts, type Link } from './ip-commands.ts';
import { linkParts } from './link-parts.ts';
import { openNetworkFiles, type NetworkFiles, type NetworkRecord } from './network-files.ts';
import { readOvsBridge, removeOvsBridge, type Datapath } from './ovs-bridge.ts';
import { hostHasIpv6 } from './sysctls.ts';
import { mayHaveTunnels, ownTunnels } from './tunnels.ts';

export interface BridgeNetworkDeps {
  /** State that outlives a reboot: leases, reservations, the applied config. May be private to root. */
  readonly dir: string;
  readonly log: Log;
  /** Default /run/gantry/networks. Pid files and what dnsmasq's unprivileged user must read. */
  readonly runDir?: string;
  /** Default: tables that nobody looks after. */
  readonly tables?: NftTables;
  /** The switch of Open vSwitch bridges; default: the kernel. */
  readonly datapath?: Datapath;
}

export function openBridgeNetwork(deps: BridgeNetworkDeps): NetworkDriver {
  const files = openNetworkFiles(deps.dir, deps.runDir ?? '/run/gantry/networks');
  const mutex = new KeyedMutex();
  const { log, datapath = 'system', tables = new NftTables(log) } = deps;
  const context = { files, log, datapath, tables };
  return {
    name: 'bridge',
    async fillConfig(config, options) {
      const taken = [...options.taken, ...(await routedSubnets())];
      const isIpv6 = await hostHasIpv6();
      return fillNetworkConfig(config, { creating: options.creating, taken, hostHasIpv6: isIpv6, random: Math.random });
    },
    async up(spec, signal) {
      planNetwork(spec); // refuses a bad config before anything is looked at
      await mutex.run(spec.name, () => bringUp(context, spec, signal));
    },
    async isServing(spec) {
      const plan = planNetwork(spec);
      const link = await readLink(spec.name);
      // Addresses that somebody added may stay.
      const isLinked =
        link !== undefined && addressCommands(plan, link).every((command) => command.startsWith('addr del'));
      return isLinked && (plan.families.length === 0 || findDnsmasq(files.pidFile(spec.name)) !== undefined);
    },
    setRules: (spec) => mutex.run(spec.name, () => convergeRules(context, spec)),
    down: (name) => mutex.run(name, () => takeDown(context, name, 'all')),
    setHosts: (name, hosts) => mutex.run(name, () => setReservations(context, name, hosts)),
    releaseLease: (name, hwaddr) => mutex.run(name, () => releaseLeases(context, name, hwaddr)),
    leases: (name) => listLeases(context, name),
    async state(name) {
      if (!/^[^\s/]{1,15}$/.test(name)) return undefined;
      const link = await readLink(name);
      return link === undefined ? undefined : { ...linkState(link), ...linkParts(link) };
    },
    async interfaces() {
      return (await readLinks()).flatMap((link) => hostInterface(link, files.mark) ?? []);
    },
    hwaddr: readHwaddr,
    async close() {},
  };
}

type Context = ConvergeDeps;

async function routedSubnets(): Promise<string[]> {
  const read = async (family: '-4' | '-6'): Promise<string[]> =>
    (await readRoutes(family, ['table', 'all'])).map((route) => route.dst);
  return (await Promise.all([read('-4'), read('-6')])).flat();
}

/** A bridge without mark is ours only if this daemon died while creating it. */
async function isOwn(files: NetworkFiles, link: Link, record: NetworkRecord | undefined): Promise<boolean> {
  if (link.kind === 'bridge') return link.alias === files.mark || (link.alias === '' && record?.creating === true);
  if (!isOvs(record?.config)) return false;
  return (await readOvsBridge(link.name))?.mark === files.mark;
}

const isOvs = (config: NetworkRecord['config'] | undefined): boolean => config?.['bridge.driver'] === 'openvswitch';

async function bringUp(context: Context, spec: NetworkSpec, signal: AbortSignal): Promise<void> {
  const { files, log } = context;
  await Promise.all([findTool('ip'), findTool('nft'), findTool('dnsmasq')]);
  const link = await readLink(spec.name, signal);
  const before = await files.read(spec.name);
  if (link !== undefined && !(await isOwn(files, link, before))) {
    const kind = link.kind === '' ? 'interface' : link.kind;
    throw driverErrors.inUse(
      `network ${spec.name}: this host has a ${kind} of that name already, made by somebody else`,
    );
  }
  if (link !== undefined && isOvs(before?.config) !== isOvs(spec.config)) refuseOtherDriver(spec);
  await withRevert(
    async (revert) => {
      revert.push(() => undoUp(context, spec.name, link, before));
      await converge(context, spec, signal);
    },
    logFailure(log, `Undoing the change of the network ${spec.name}`),
  );
}

/** Containers on the old bridge would lose their networks. */
function refuseOtherDriver({ name }: NetworkSpec): never {
  throw driverErrors.inUse(
    `network ${name}: bridge.driver cannot change while the bridge is there: make another network, and move the nics to it`,
  );
}

/** Restores the earlier state: the earlier config if it was up, only its files if it was not, nothing if it is new. */
async function undoUp(
  context: Context,
  name: string,
  link: Link | undefined,
  before: NetworkRecord | undefined,
): Promise<void> {
  if (before === undefined || before.creating) return takeDown(context, name, 'all');
  if (link === undefined) {
    await takeDown(context, name, 'volatile');
    return context.files.write(name, before);
  }
  return converge(context, { name, config: before.config, acls: before.acls ?? [] });
}

async function takeDown(context: Context, name: string, what: 'volatile' | 'all'): Promise<void> {
  const { files } = context;
  const record = await files.read(name);
  const link = await readLink(name);
  const isForeign = link !== undefined && !(await isOwn(files, link, record));
  if (isForeign && record === undefined) return;
  await stopDnsmasq(files.pidFile(name));
  const isSwitch = isOvs(record?.config);
  const ovsBridge = isSwitch ? await readOvsBridge(name) : undefined;
  const links = mayHaveTunnels(record) ? withPorts(await readLinks(), name, ovsBridge?.ports ?? []) : [];
  const tunnels = ownTunnels(name, files.mark, links);
  if (!isForeign && ovsBridge?.mark === files.mark) await removeOvsBridge(name);
  const bridge = link === undefined || isForeign || isSwitch ? [] : [`link del dev ${name}`];
  await ipBatch(`remove the bridge of network ${name}`, [
    ...tunnels.map((tunnel) => `link del dev ${tunnel.name}`),
    ...bridge,
  ]);
  await context.tables.remove(`remove the firewall of network ${name}`, [firewallTable(name)]);
  await passDocker(name, false, context.log);
  await files.remove(name, what);
}

/** Checks whether this process can create bridge networks on this host, and gives the reason if not; leaves nothing behind. */
export type Availability = { readonly ok: true } | { readonly ok: false; readonly reason: string };

export async function bridgeAvailable(): Promise<Availability> {
  if (process.platform !== 'linux') return { ok: false, reason: 'managed networks need Linux' };
  if (process.getuid?.() !== 0) return { ok: false, reason: 'managed networks need root' };
  const name = `gp${process.pid.toString(36)}`;
  const config = { 'ipv4.address': '10.0.0.1/24', 'ipv4.nat': 'true' };
  try {
    await Promise.all([findTool('ip'), findTool('nft'), findTool('dnsmasq')]);
    await ipBatch('make a bridge', [`link add name ${name} type bridge`, `link del dev ${name}`]);
    await runTool('nft', ['-c', '-f', '-'], { input: renderFirewall(planNetwork({ name, config })) });
    return { ok: true };
  } catch (error) {
    return { ok: false, reason: errorText(error) };
  }
}
