// Leases and reservations of a running bridge network: those that its dnsmasq has given, may give, and must withdraw.
import { createSocket } from 'node:dgram';
import { formatIp } from '../../api/text/ip.ts';
import { errorText } from '../../lib/shared/reason.ts';
import { driverErrors } from '../driver-error.ts';
import { planNetwork, type NetworkPlan } from './config.ts';
import type { ConvergeDeps } from './converge.ts';
import {
  distinctHosts,
  dnsmasqArguments,
  renderHosts,
  withoutLeases,
  type LeaseFile,
  type LeaseLine,
} from './dnsmasq/format.ts';
import { findDnsmasq, reloadDnsmasq, startDnsmasq, stopDnsmasq } from './dnsmasq/process.ts';
import type { DynamicLease, NetworkHost } from './driver.ts';
import { editLeases, readLeaseFile } from './dnsmasq/lease-file.ts';
import { sendReleases } from './dnsmasq/lease-release.ts';
import type { NetworkFiles, NetworkRecord } from './network-files.ts';

/** Time for a released lease to vanish before dnsmasq is restarted without it. */
const releaseWaitMs = 2000;
const settleMs = 500;

/** Empty for a network that was never up. */
export async function listLeases(deps: ConvergeDeps, name: string): Promise<DynamicLease[]> {
  const record = await deps.files.read(name);
  if (record === undefined) return [];
  const { leases } = await read(deps, planNetwork({ name, config: record.config }));
  const now = Date.now() / 1000;
  return leases
    .filter((lease) => lease.expiry === 0 || lease.expiry > now)
    .map(({ hostname, hwaddr, address }) => ({ hostname, hwaddr, address }));
}

/** In effect when it resolves, unless dnsmasq is too busy to confirm it. */
export async function setReservations(deps: ConvergeDeps, name: string, hosts: readonly NetworkHost[]): Promise<void> {
  const { files, log } = deps;
  const { record, plan } = await mustRead(deps, name, 'set reservations');
  const { kept, dropped } = distinctHosts(hosts);
  for (const reason of dropped) log.warn('reservation left out', { network: name, reason });
  const isNew = JSON.stringify(kept) !== JSON.stringify(record.hosts);
  await Promise.all([
    isNew ? files.write(name, { ...record, hosts: kept }) : undefined,
    reloadHosts(files, plan, renderHosts(kept, plan.dnsMode)),
  ]);
}

async function reloadHosts(files: NetworkFiles, plan: NetworkPlan, hosts: string): Promise<void> {
  if (!(await files.writeHosts(plan.name, hosts))) return;
  // A reload makes dnsmasq read the file again instead of its old content, without losing a query.
  if (reloadDnsmasq(files.pidFile(plan.name))) await waitUntilIdle(plan);
}

export async function releaseLeases(deps: ConvergeDeps, name: string, hwaddr: string): Promise<void> {
  const { plan } = await mustRead(deps, name, `release the lease of ${hwaddr}`);
  const isTheirs = (lease: LeaseLine): boolean => lease.hwaddr === hwaddr.toLowerCase();
  const file = await read(deps, plan);
  const theirs = file.leases.filter(isTheirs);
  if (theirs.length === 0) return;
  if (findDnsmasq(deps.files.pidFile(name)) !== undefined) {
    const isSent = await trySending(deps, plan, file, theirs);
    const end = Date.now() + (isSent ? releaseWaitMs : 0);
    while (Date.now() < end) {
      if (!(await read(deps, plan)).leases.some(isTheirs)) return;
    }
  }
  await restartWithout(deps, plan, isTheirs);
}

async function mustRead(
  deps: ConvergeDeps,
  name: string,
  doing: string,
): Promise<{ readonly record: NetworkRecord; readonly plan: NetworkPlan }> {
  const record = await deps.files.read(name);
  if (record === undefined) throw driverErrors.notFound(`${doing}: network ${name} was never brought up here`);
  return { record, plan: planNetwork({ name, config: record.config }) };
}

async function waitUntilIdle(plan: NetworkPlan): Promise<boolean> {
  const [family] = plan.families;
  return family !== undefined && waitForIdleDnsmasq(formatIp(family.address.ip), settleMs);
}

function read(deps: ConvergeDeps, plan: NetworkPlan): Promise<LeaseFile> {
  return readLeaseFile(deps.files.leaseFile(plan.name), async () => {
    if (findDnsmasq(deps.files.pidFile(plan.name)) === undefined) return 'ended';
    return (await waitUntilIdle(plan)) ? 'idle' : 'silent';
  });
}

async function trySending(
  deps: ConvergeDeps,
  plan: NetworkPlan,
  file: LeaseFile,
  leases: readonly LeaseLine[],
): Promise<boolean> {
  try {
    await sendReleases(plan, file, leases);
    return true;
  } catch (error) {
    deps.log.warn('release message not sent', { network: plan.name, error: errorText(error) });
    return false;
  }
}

/** Interrupts service for some ten milliseconds, so it is the second choice. */
async function restartWithout(
  deps: ConvergeDeps,
  plan: NetworkPlan,
  drop: (lease: LeaseLine) => boolean,
): Promise<void> {
  const { files } = deps;
  const wasRunning = findDnsmasq(files.pidFile(plan.name)) !== undefined;
  await stopDnsmasq(files.pidFile(plan.name));
  await editLeases(files.leaseFile(plan.name), (text) => withoutLeases(text, drop));
  if (!wasRunning) return;
  await startDnsmasq(plan.name, dnsmasqArguments(plan, await files.places(plan.name, plan.rawDnsmasq)));
}

/** The query for the name of the server (version.bind TXT CHAOS), which it answers itself with any config. */
const question = Buffer.concat([
  Buffer.from([0x67, 0x79, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0]),
  Buffer.from('\x07version\x04bind\0', 'latin1'),
  Buffer.from([0, 16, 0, 3]),
]);

/** False if it does not answer in time or serves no DNS. */
async function waitForIdleDnsmasq(address: string, limitMs: number): Promise<boolean> {
  const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
  let again: NodeJS.Timeout | undefined;
  let timeout: NodeJS.Timeout | undefined;
  try {
    return await new Promise<boolean>((resolve) => {
      timeout = setTimeout(() => resolve(false), limitMs);
      // A connected socket gets an error at once if no process listens.
      socket.once('error', () => resolve(false));
      socket.once('message', () => resolve(true));
      socket.connect(53, address, () => {
        socket.send(question);
        again = setInterval(() => socket.send(question), 200);
      });
    });
  } finally {
    clearInterval(again);
    clearTimeout(timeout);
    socket.close();
  }
}
