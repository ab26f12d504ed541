// Frames of a hostile root, built byte by byte, sent and received in the network namespace of a container.
import { execFileSync, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { formatIp, parseIp } from '../../../server/api/text/ip.ts';

export interface Endpoint {
  readonly mac: string;
  readonly ipv4: string;
  readonly ipv6: string;
  /** Its address of the link. */
  readonly link: string;
}

const mac = (text: string): Buffer => Buffer.from(text.replaceAll(':', ''), 'hex');
const u16 = (value: number): Buffer => Buffer.from([value >> 8, value & 255]);
function ip(text: string): Buffer {
  const parsed = parseIp(text);
  if (parsed === undefined) throw new Error(`${text} is no address`);
  return Buffer.from(parsed.value.toString(16).padStart(parsed.family === 4 ? 8 : 32, '0'), 'hex');
}

/** `to` and `from`: hardware addresses. */
export const ethernet = (to: string, from: string, type: number, payload: Buffer): Buffer =>
  Buffer.concat([mac(to), mac(from), u16(type), payload]);

export const arpReply = (hw: string, address: string, target: string): Buffer =>
  Buffer.concat([Buffer.from('0001080006040002', 'hex'), mac(hw), ip(address), mac('00:16:3e:00:00:00'), ip(target)]);

export const arpProbe = (hw: string, target: string): Buffer =>
  Buffer.concat([Buffer.from('0001080006040001', 'hex'), mac(hw), ip('0.0.0.0'), mac('00:00:00:00:00:00'), ip(target)]);

/** `send` completes length and checksum. */
export function udp4(from: string, to: string, ports: readonly [number, number]): Buffer {
  const body = Buffer.alloc(16);
  const udp = Buffer.concat([u16(ports[0]), u16(ports[1]), u16(8 + body.length), u16(0), body]);
  const head = Buffer.concat([
    Buffer.from('4500', 'hex'),
    u16(20 + udp.length),
    Buffer.from('0000000040110000', 'hex'),
    ip(from),
    ip(to),
  ]);
  return Buffer.concat([head, udp]);
}

const ip6 = (from: string, to: string, next: number, payload: Buffer, hops = 255): Buffer =>
  Buffer.concat([
    Buffer.from('60000000', 'hex'),
    u16(payload.length),
    Buffer.from([next, hops]),
    ip(from),
    ip(to),
    payload,
  ]);

export const udp6 = (from: string, to: string, ports: readonly [number, number]): Buffer =>
  ip6(from, to, 17, Buffer.concat([u16(ports[0]), u16(ports[1]), u16(24), u16(0xffff), Buffer.alloc(16)]));

const icmp = (type: number, rest: Buffer): Buffer => Buffer.concat([Buffer.from([type, 0, 0, 0]), rest]);

export const icmp6 = (from: string, to: string, type: number, rest: Buffer): Buffer =>
  ip6(from, to, 58, icmp(type, rest));

/** The same behind an option header, which a careless filter does not parse. */
export const hiddenIcmp6 = (from: string, to: string, type: number, rest: Buffer): Buffer =>
  ip6(from, to, 0, Buffer.concat([Buffer.from('3a00010400000000', 'hex'), icmp(type, rest)]));

/** Neighbour discovery about `target`. */
export const about = (target: string): Buffer => Buffer.concat([Buffer.alloc(4), ip(target)]);
export const routerBody = (): Buffer => Buffer.alloc(12);

/** On one processor, so that frames keep their order. */
const sender = `
import os, socket, sys
os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
s.bind(('eth0', 0))
for line in sys.stdin: s.send(bytes.fromhex(line.strip()))
`;
const watcher = `
import re, socket
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
s.bind(('eth0', 0))
print('ready', flush=True)
while True:
    for mark in re.findall(rb'<mark:[^>]+>', s.recv(4096)): print(mark[6:-1].decode(), flush=True)
`;
/** The host's own Python. */
const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' };
const inside = (pid: number): readonly string[] => ['-t', String(pid), '-n', 'python3', '-c'];

/** Appends the name to the frame, inside the packet, since a bridge may cut off trailing bytes. */
function marked(name: string, frame: Buffer): string {
  const mark = Buffer.from(`<mark:${name}>`);
  const out = Buffer.concat([frame, Buffer.alloc(Math.max(0, 60 - frame.length)), mark]);
  const type = out.readUInt16BE(12);
  if (type === 0x0800) {
    out.writeUInt16BE(out.length - 14, 16);
    out.writeUInt16BE(0, 24);
    out.writeUInt16BE(checksum(out.subarray(14, 34)), 24);
  }
  if (type === 0x86dd) out.writeUInt16BE(out.length - 54, 18);
  return out.toString('hex');
}

function checksum(head: Buffer): number {
  let sum = 0;
  for (let at = 0; at < head.length; at += 2) sum += head.readUInt16BE(at);
  while (sum > 0xffff) sum = (sum & 0xffff) + (sum >>> 16);
  return ~sum & 0xffff;
}

export function send(pid: number, frames: Readonly<Record<string, Buffer>>): void {
  const input = Object.entries(frames).map(([name, frame]) => marked(name, frame));
  execFileSync('nsenter', [...inside(pid), sender], { input: input.join('\n'), env });
}

/** The sorted names of frames that reach the network namespace of `pid` during `work`, until the frame `end` arrives. */
export async function seenBy(pid: number, end: string, work: () => void): Promise<readonly string[]> {
  const child = spawn('nsenter', [...inside(pid), watcher], { stdio: ['ignore', 'pipe', 'inherit'], env });
  // A receiver's error reply contains the name too.
  const seen = new Set<string>();
  const limit = setTimeout(() => child.kill('SIGKILL'), 60_000);
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      if (line === 'ready') work();
      else if (line === end) return [...seen].sort();
      else seen.add(line);
    }
  } finally {
    clearTimeout(limit);
    child.kill('SIGKILL');
  }
  throw new Error(`the last frame did not come; before it came ${[...seen].join(', ')}`);
}

export const linkAddress = (hwaddr: string): string => {
  const id = BigInt(`0x${hwaddr.replaceAll(':', '')}`) ^ (2n << 40n);
  const value = (0xfe80n << 112n) | ((id >> 24n) << 40n) | (0xfffen << 24n) | (id & 0xffffffn);
  return formatIp({ family: 6, value });
};
