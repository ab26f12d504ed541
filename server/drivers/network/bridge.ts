// The network driver for a real host: Linux bridges, nftables and dnsmasq. Ordering, locking and undoing are here; the
// steps themselves in converge.ts, all texts in the pure files beside it.
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { KeyedMutex } from '../../lib/keyed-mutex.ts';
import { errorText } from '../../lib/log.ts';
import type { Log } from '../../lib/log.ts';
import { withRevert } from '../../lib/revert.ts';
import { DriverError } from '../driver-error.ts';
import { planNetwork } from './config.ts';
import { converge, editLeases, ownTunnels } from './converge.ts';
import { dnsmasqArguments, distinctHosts, parseLeases, renderHosts, withoutLeases } from './dnsmasq.ts';
import type { LeaseLine } from './dnsmasq.ts';
import { findDnsmasq, reloadDnsmasq, startDnsmasq, stopDnsmasq } from './dnsmasq-process.ts';
import type { NetworkDriver, NetworkHost, NetworkSpec } from './driver.ts';
import { fillNetworkConfig } from './fill-config.ts';
import { renderFirewallRemoval } from './firewall.ts';
import { findTool, ipBatch, nftApply, readLink, readLinks, readRoutes } from './host-tools.ts';
import { hostInterface, linkState } from './ip-commands.ts';
import type { Link } from './ip-commands.ts';
import { sendReleases } from './lease-release.ts';
import { openNetworkFiles } from './network-files.ts';
import type { NetworkFiles, NetworkRecord } from './network-files.ts';
import { hostHasIpv6 } from './sysctls.ts';

export { bridgeAvailable } from './bridge-available.ts';

export interface BridgeNetworkDeps {
  /** State that outlives a reboot: leases, reservations, what was applied. May be private to root. */
  readonly dir: string;
  readonly log: Log;
  /** Default /run/gantry/networks. Pid files and what dnsmasq's unprivileged user must read. */
  readonly runDir?: string;
}

/** How long a released lease may take to leave the file before dnsmasq is restarted without it. Usually a millisecond, but
 *  dnsmasq flushes each lease to disk, and may be waiting for that. */
const releaseWaitMs = 2000;

export function openBridgeNetwork(deps: BridgeNetworkDeps): NetworkDriver {
  const files = openNetworkFiles(deps.dir, deps.runDir ?? '/run/gantry/networks');
  const mutex = new KeyedMutex();
  const context = { files, log: deps.log };
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
    down: (name) => mutex.run(name, () => takeDown(context, name, 'all')),
    setHosts: (name, hosts) => mutex.run(name, () => replaceHosts(context, name, hosts)),
    releaseLease: (name, hwaddr) => mutex.run(name, () => release(context, name, hwaddr)),
    async leases(name) {
      const now = Date.now() / 1000;
      const { leases } = parseLeases(await readFile(files.leaseFile(name), 'utf8').catch(() => ''));
      return leases
        .filter((lease) => lease.expiry === 0 || lease.expiry > now)
        .map(({ hostname, hwaddr, address }) => ({ hostname, hwaddr, address }));
    },
    async state(name) {
      if (!/^[^\s/]{1,15}$/.test(name)) return undefined;
      const link = await readLink(name);
      return link === undefined ? undefined : linkState(link);
    },
    async interfaces() {
      return (await readLinks()).flatMap((link) => hostInterface(link) ?? []);
    },
    async close() {},
  };
}

interface Context {
  readonly files: NetworkFiles;
  readonly log: Log;
}

async function routedSubnets(): Promise<string[]> {
  const read = async (family: '-4' | '-6'): Promise<string[]> =>
    (await readRoutes(family, ['table', 'all'])).map((route) => route.dst);
  return (await Promise.all([read('-4'), read('-6')])).flat();
}

/** A bridge without mark is ours only when this daemon died while making it. */
function isOwn(files: NetworkFiles, link: Link, record: NetworkRecord | undefined): boolean {
  if (link.kind !== 'bridge') return false;
  return link.alias === files.mark || (link.alias === '' && record?.creating === true);
}

async function bringUp(context: Context, spec: NetworkSpec, signal: AbortSignal): Promise<void> {
  const { files, log } = context;
  await Promise.all([findTool('ip'), findTool('nft'), findTool('dnsmasq')]);
  const link = await readLink(spec.name, signal);
  const before = await files.read(spec.name);
  if (link !== undefined && !isOwn(files, link, before)) {
    const kind = link.kind === '' ? 'interface' : link.kind;
    throw new DriverError(
      'InUse',
      `network ${spec.name}: this host has a ${kind} of that name already, made by somebody else`,
    );
  }
  await withRevert(async (revert) => {
    revert.push(async () => {
      try {
        await undoUp(context, spec.name, link, before);
      } catch (error) {
        log.error('could not undo a failed network change', { network: spec.name, error: errorText(error) });
      }
    });
    await converge(context, spec, signal);
  });
}

/** Back to what was: the config before when it was up, its files alone when it was not, nothing when it is new. */
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
  return converge(context, { name, config: before.config });
}

async function takeDown(context: Context, name: string, what: 'volatile' | 'all'): Promise<void> {
  const { files } = context;
  const record = await files.read(name);
  const link = await readLink(name);
  const isForeign = link !== undefined && !isOwn(files, link, record);
  if (isForeign && record === undefined) return;
  await stopDnsmasq(files.pidFile(name));
  const hadTunnels = Object.keys(record?.config ?? {}).some((key) => key.startsWith('tunnel.'));
  const tunnels = hadTunnels ? ownTunnels(name, files.mark, await readLinks()) : [];
  const bridge = link === undefined || isForeign ? [] : [`link del dev ${name}`];
  await ipBatch(`remove the bridge of network ${name}`, [
    ...tunnels.map((tunnel) => `link del dev ${tunnel.name}`),
    ...bridge,
  ]);
  await nftApply(`remove the firewall of network ${name}`, renderFirewallRemoval(name));
  await files.remove(name, what);
}

async function mustRead(context: Context, name: string, doing: string): Promise<NetworkRecord> {
  const record = await context.files.read(name);
  if (record === undefined) throw new DriverError('NotFound', `${doing}: network ${name} was never brought up here`);
  return record;
}

async function replaceHosts(context: Context, name: string, hosts: readonly NetworkHost[]): Promise<void> {
  const { files, log } = context;
  const record = await mustRead(context, name, 'set reservations');
  const { kept, dropped } = distinctHosts(hosts);
  for (const reason of dropped) log.warn('reservation left out', { network: name, reason });
  const plan = planNetwork({ name, config: record.config });
  await files.write(name, { ...record, hosts: kept });
  // A reload makes dnsmasq forget what the file said before and read it anew, without losing a query.
  if (await files.writeHosts(name, renderHosts(kept, plan.dnsMode))) await reloadDnsmasq(files.pidFile(name));
}

async function release(context: Context, name: string, hwaddr: string): Promise<void> {
  const { files, log } = context;
  const record = await mustRead(context, name, `release the lease of ${hwaddr}`);
  const path = files.leaseFile(name);
  const isTheirs = (lease: LeaseLine): boolean => lease.hwaddr === hwaddr.toLowerCase();
  const read = async (): Promise<ReturnType<typeof parseLeases>> =>
    parseLeases(await readFile(path, 'utf8').catch(() => ''));
  const file = await read();
  const theirs = file.leases.filter(isTheirs);
  if (theirs.length === 0) return;
  const plan = planNetwork({ name, config: record.config });
  if ((await findDnsmasq(files.pidFile(name))) !== undefined) {
    const isSent = await sendReleases(plan, file, theirs).then(
      () => true,
      (error: unknown) => {
        log.warn('release message not sent', { network: name, error: errorText(error) });
        return false;
      },
    );
    const end = Date.now() + (isSent ? releaseWaitMs : 0);
    for (; Date.now() < end; await sleep(3)) {
      if (!(await read()).leases.some(isTheirs)) return;
    }
  }
  await restartWithout(context, plan, isTheirs);
}

/** Costs some ten milliseconds of service, so it is the second choice. */
async function restartWithout(
  context: Context,
  plan: ReturnType<typeof planNetwork>,
  drop: (lease: LeaseLine) => boolean,
): Promise<void> {
  const { files } = context;
  const wasRunning = (await findDnsmasq(files.pidFile(plan.name))) !== undefined;
  await stopDnsmasq(files.pidFile(plan.name));
  await editLeases(files.leaseFile(plan.name), (text) => withoutLeases(text, drop));
  if (!wasRunning) return;
  await startDnsmasq(plan.name, dnsmasqArguments(plan, await files.places(plan.name, plan.rawDnsmasq)));
}
