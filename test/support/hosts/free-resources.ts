// Picks free resources of the machine at run time: subnets that no interface or route has, and ports without a listener.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { networkInterfaces, tmpdir } from 'node:os';
import { join } from 'node:path';
import { cidrsOverlap, parseCidr, type Cidr } from '../../../server/api/text/ip.ts';

/** Subnets of the machine's interfaces and routes; default routes include everything and are ignored. */
function taken(): readonly Cidr[] {
  const addresses = Object.values(networkInterfaces()).flatMap((list) => list?.flatMap(({ cidr }) => cidr ?? []) ?? []);
  return [...addresses, ...routes()].flatMap((text) => parseCidr(text.includes('/') ? text : `${text}/32`) ?? []);
}

/** Also those of interfaces that are down. None without the program `ip`: then no real network is tested either. */
function routes(): readonly string[] {
  try {
    const links = JSON.parse(execFileSync('ip', ['-j', '-4', 'addr'], { encoding: 'utf8' })) as {
      addr_info?: { local: string; prefixlen: number }[];
    }[];
    const table = JSON.parse(execFileSync('ip', ['-j', '-4', 'route'], { encoding: 'utf8' })) as { dst: string }[];
    return [
      ...links.flatMap(({ addr_info: all = [] }) => all.map(({ local, prefixlen }) => `${local}/${prefixlen}`)),
      ...table.map(({ dst }) => dst).filter((dst) => dst !== 'default'),
    ];
  } catch {
    return [];
  }
}

/** The results of `freeSubnet` in this process: their networks may not exist yet. */
const given = new Set<string>();

/** One file a reserved subnet, with the pid of its owner: test files of other processes pick theirs at the same time. */
const reservations = join(tmpdir(), 'gantry-subnets');

/** Reserves the subnet for this process until it ends. False if another process that runs has it. */
function reserve(prefix: string): boolean {
  const file = join(reservations, prefix);
  mkdirSync(reservations, { recursive: true });
  try {
    writeFileSync(file, String(process.pid), { flag: 'wx' });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    if (isRunning(Number(readFileSync(file, 'utf8')))) return false;
    writeFileSync(file, String(process.pid));
  }
  if (given.size === 0)
    process.once('exit', () => given.forEach((one) => rmSync(join(reservations, one), { force: true })));
  given.add(prefix);
  return true;
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Whether 10.x.y.0/24, given by its first three numbers, is unused on this machine. */
export function isFreeSubnet(prefix: string, used: readonly Cidr[] = taken()): boolean {
  const wanted = parseCidr(`${prefix}.0/24`);
  return wanted !== undefined && !given.has(prefix) && !used.some((one) => cidrsOverlap(one, wanted));
}

/** First three numbers of a /24 subnet (`10.177.3`). All have the same length, so tables keep their widths. */
export function freeSubnet(): string {
  const used = taken();
  for (let tries = 0; tries < 1000; tries += 1) {
    const prefix = `10.${100 + Math.floor(Math.random() * 100)}.${Math.floor(Math.random() * 10)}`;
    if (isFreeSubnet(prefix, used) && reserve(prefix)) return prefix;
  }
  throw new Error('this machine has no free subnet 10.100.0.0/24 to 10.199.9.0/24');
}

/** A port of five digits without a listener; the wanted one if it is free. */
export function portNear(wanted: number): number {
  const listening = listeningPorts();
  const candidates = [wanted, ...Array.from({ length: 200 }, () => 20_000 + Math.floor(Math.random() * 10_000))];
  const port = candidates.find((each) => !listening.has(each));
  if (port === undefined) throw new Error('no port between 20000 and 30000 is free');
  return port;
}

function listeningPorts(): ReadonlySet<number> {
  try {
    const lines = execFileSync('cat', ['/proc/net/tcp', '/proc/net/tcp6'], { encoding: 'utf8' }).split('\n');
    const ports = lines.flatMap((line) => {
      const [, , local = '', , state = ''] = ` ${line}`.split(/\s+/);
      return state === '0A' ? [Number.parseInt(local.split(':')[1] ?? '0', 16)] : [];
    });
    return new Set(ports);
  } catch {
    return new Set();
  }
}

/** Addresses of an example, and their replacements on this machine. */
export interface Replacements {
  /** Replaces documented values by local ones. */
  readonly here: (text: string) => string;
  /** Replaces local values by documented ones. */
  readonly documented: (text: string) => string;
}

const documentedSubnet = /\b10\.1[0-9]{2}\.[0-9](?=\.[0-9]+\b)/g;
const documentedPort = /\b18080\b/g;

/** Keeps every free subnet and port of these texts; the others get free ones of the same length. */
export function replaceTaken(texts: readonly string[]): Replacements {
  const used = taken();
  const pairs = new Map<string, string>();
  for (const text of texts) {
    for (const [prefix] of text.matchAll(documentedSubnet)) {
      if (!pairs.has(prefix)) pairs.set(prefix, isFreeSubnet(prefix, used) && reserve(prefix) ? prefix : freeSubnet());
    }
    for (const [port] of text.matchAll(documentedPort)) {
      if (!pairs.has(port)) pairs.set(port, String(portNear(Number(port))));
    }
  }
  const back = new Map([...pairs].map(([from, to]) => [to, from]));
  const replace = (map: ReadonlyMap<string, string>) => (text: string) => {
    const changed = [...map].filter(([from, to]) => from !== to);
    return changed.reduce(
      (now, [from, to]) => now.replaceAll(new RegExp(`\\b${from.replaceAll('.', '\\.')}\\b`, 'g'), to),
      text,
    );
  };
  return { here: replace(pairs), documented: replace(back) };
}
