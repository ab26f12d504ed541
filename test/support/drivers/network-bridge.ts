// Drives real bridges for the network conformance suite: clients are network namespaces with a real DHCP client.
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { Resolver } from 'node:dns/promises';
import { createServer } from 'node:net';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { openBridgeNetwork } from '../../../server/drivers/network/bridge.ts';
import { openNetworkFiles } from '../../../server/drivers/network/network-files.ts';
import type { NetworkDriver } from '../../../server/drivers/network/driver.ts';
import { attachPort, detachPort, isOvsBridge } from '../../../server/drivers/openvswitch.ts';
import { exec } from '../../../server/lib/exec.ts';
import { silentLog } from '../../../server/lib/log.ts';
import type { NetworkHarness } from '../../conformance/network.ts';
import { until } from '../until.ts';
import { joinNetns } from './network-namespace.ts';

const runDir = '/run/gantry/networks';

export interface BridgeHarness extends NetworkHarness {
  readonly dir: string;
  /** At most 7 characters; every interface and namespace of this harness begins with it. */
  readonly prefix: string;
  /** Networks beyond the host, as they begin: /24 and /64. */
  readonly outside: {
    readonly ipv4: string;
    readonly ipv6: string;
    readonly otherIpv4: string;
    readonly otherIpv6: string;
  };
  dnsmasqPid(network: string): number;
}

/** Parts of 10.213.0.0/16, and the subnets of one. */
const parts = 8;
const partSize = 32;

interface Part {
  readonly number: number;
  release(): void;
}

/** Reserves a part that no other process of tests on this host uses, until it is released or this process ends. */
async function reservePart(): Promise<Part> {
  let found: Part | undefined;
  await until(async () => {
    for (let number = 0; number < parts && found === undefined; number += 1) found = await reserve(number);
    return found !== undefined;
  });
  return found ?? expect.unreachable();
}

/** The abstract socket ends with this process. */
function reserve(number: number): Promise<Part | undefined> {
  const server = createServer().unref();
  return new Promise((resolve) => {
    server.once('error', () => resolve(undefined));
    server.listen({ path: `\0gantry-test-networks-${number}` }, () =>
      resolve({ number, release: () => void server.close() }),
    );
  });
}

/** `onSwitch`: uses Open vSwitch bridges. */
export async function makeBridgeHarness(onSwitch = false): Promise<BridgeHarness> {
  const part = await reservePart();
  const dir = await mkdtemp(join(tmpdir(), 'gtyn-bridge-'));
  const files = openNetworkFiles(dir, runDir);
  const prefix = `gtyn${Math.floor(Math.random() * 36 ** 3)
    .toString(36)
    .padStart(3, '0')}`;
  let octet = Math.floor((Math.random() * partSize) / 2) * 2;
  let count = 0;
  const used: string[] = [];
  const foreign: string[] = [];
  const open = (): NetworkDriver => {
    const driver = openBridgeNetwork({ dir, log: silentLog, runDir, ...(onSwitch ? { datapath: 'netdev' } : {}) });
    if (!onSwitch) return driver;
    const up: NetworkDriver['up'] = ({ name, config }, signal) =>
      driver.up({ name, config: { 'bridge.driver': 'openvswitch', ...config } }, signal);
    return { ...driver, up };
  };
  const dnsmasqPid = (network: string): number => Number(readFileSync(files.pidFile(network), 'utf8').trim());
  return {
    dir,
    prefix,
    outside: {
      ipv4: `198.18.${100 + 2 * part.number}`,
      otherIpv4: `198.18.${101 + 2 * part.number}`,
      ipv6: `fd42:ffff:${100 + 2 * part.number}`,
      otherIpv6: `fd42:ffff:${101 + 2 * part.number}`,
    },
    dnsmasqPid,
    open,
    fresh() {
      count += 1;
      do octet = (octet + 2) % partSize;
      while (isUsed(octet + partSize * part.number) || isUsed(octet + 1 + partSize * part.number));
      const third = octet + partSize * part.number;
      const name = `${prefix}n${count}`;
      used.push(name);
      return { name, ipv4: `10.213.${third}`, otherIpv4: `10.213.${third + 1}`, ipv6: `fd42:213:1${third}` };
    },
    async join(network, client) {
      if (!onSwitch) return joinNetns(prefix, network, client);
      const joined = await joinNetns(prefix, undefined, client);
      await attachPort(network, joined.hostEnd);
      const leave = async (): Promise<void> => {
        await joined.leave();
        await detachPort(network, joined.hostEnd).catch(() => {});
      };
      return { ...joined, leave };
    },
    resolve: (network, hostname) => resolveAt(network, `${hostname}.gantry`),
    serviceId: (network) => String(dnsmasqPid(network)),
    async remains(network) {
      const left = await remainsOf(dir, files.pidFile(network), network);
      return onSwitch && (await isOvsBridge(network)) ? [...left, `bridge ${network} of Open vSwitch`] : left;
    },
    sabotage: () => ({ 'raw.dnsmasq': 'no-such-option=1' }),
    async foreignInterface() {
      const name = `${prefix}f${foreign.length}`;
      await exec(['ip', 'link', 'add', 'name', name, 'type', 'bridge']);
      foreign.push(name);
      return name;
    },
    async cleanup() {
      const driver = open();
      for (const name of used) await driver.down(name);
      for (const name of foreign) await exec(['ip', 'link', 'del', 'dev', name], { okCodes: [0, 1] });
      await rm(dir, { recursive: true, force: true });
      part.release();
    },
  };
}

function isUsed(third: number): boolean {
  const all = Object.values(networkInterfaces()).flatMap((entries) => entries ?? []);
  return all.some((entry) => entry.address.startsWith(`10.213.${third}.`));
}

/** The answer of the DNS server on the bridge; empty when the name does not exist or is unknown. */
export async function resolveAt(network: string, name: string): Promise<readonly string[]> {
  const { stdout } = await exec(['ip', '-4', '-o', 'addr', 'show', 'dev', network]);
  const server = /inet ([0-9.]+)\//.exec(stdout)?.[1] ?? '';
  const resolver = new Resolver({ timeout: 1000, tries: 1 });
  resolver.setServers([server]);
  const unknown = ['ENOTFOUND', 'ENODATA', 'ESERVFAIL', 'EREFUSED', 'ETIMEOUT'];
  return resolver.resolve4(name).catch((error: NodeJS.ErrnoException) => {
    if (unknown.includes(error.code ?? '')) return [];
    throw error;
  });
}

async function remainsOf(dir: string, pidFile: string, network: string): Promise<string[]> {
  const out: string[] = [];
  const links = JSON.parse((await exec(['ip', '-j', 'link', 'show'])).stdout) as { ifname: string }[];
  for (const { ifname } of links)
    if (ifname === network || ifname.startsWith(`${network}-`)) out.push(`link ${ifname}`);
  const tables = (await exec(['nft', 'list', 'tables'])).stdout.split('\n');
  out.push(...tables.filter((line) => line.endsWith(` gantry_${network}`)));
  for (const entry of await readdir('/proc')) {
    if (!/^[0-9]+$/.test(entry)) continue;
    const argv = (await readFile(`/proc/${entry}/cmdline`, 'utf8').catch(() => '')).split('\0');
    if (argv.includes(`--pid-file=${pidFile}`)) out.push(`process ${entry}`);
  }
  if (existsSync(pidFile)) out.push(pidFile);
  if (existsSync(join(dir, network))) out.push(join(dir, network));
  return out;
}
