// Reads the interfaces of a network namespace: links, addresses, counters. Changes nothing in it.
import { closeSync, openSync } from 'node:fs';
import type { InterfaceState } from '../../interface-state.ts';
import { exec } from '../../../lib/exec.ts';
import { findProgram } from '../host/programs.ts';
import { type NetLink, parseIpJson, parseNetlink, netlinkDump, toInterfaceStates } from './netlink.ts';
import { loadLibc, type Libc } from '../host/syscalls.ts';

/** `hostNames`: name inside -> name of the host end, as the daemon made them. */
export async function readInterfaces(
  pid: number,
  hostNames: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, InterfaceState>>> {
  const libc = await loadLibc();
  const links = libc === undefined ? await linksByIp(pid) : linksByNetlink(libc, pid);
  return toInterfaceStates(links, (link) => {
    const asked = libc === undefined || link.peerIndex === undefined ? '' : nameOfIndex(libc, link.peerIndex);
    return asked === '' ? (hostNames[link.name] ?? '') : ownHostName(asked, hostNames);
  });
}

/** The container's root can make links with any peer index: it must not learn other host names by it. */
export const ownHostName = (asked: string, hostNames: Readonly<Record<string, string>>): string =>
  Object.values(hostNames).includes(asked) ? asked : '';

const cloneNewnet = 0x4000_0000;
const afNetlink = 16;
const sockRawCloexec = 3 | 0o2000000;

/** A netlink socket keeps its namespace, so the thread enters the other one for a single call. */
function linksByNetlink(libc: Libc, pid: number): readonly NetLink[] {
  const fd = socketIn(libc, pid);
  try {
    return parseNetlink(dump(libc, fd, netlinkDump.links), dump(libc, fd, netlinkDump.addresses));
  } finally {
    closeSync(fd);
  }
}

function socketIn(libc: Libc, pid: number): number {
  const home = openSync('/proc/thread-self/ns/net', 'r');
  try {
    const away = openSync(`/proc/${pid}/ns/net`, 'r');
    try {
      if (libc.setns(away, cloneNewnet) !== 0) throw new Error(`cannot enter the network of process ${pid}`);
      const fd = libc.socket(afNetlink, sockRawCloexec, 0);
      // A daemon left in a container's network would serve its API there.
      if (libc.setns(home, cloneNewnet) !== 0) process.abort();
      if (fd < 0) throw new Error(`no netlink socket in the network of process ${pid}`);
      return fd;
    } finally {
      closeSync(away);
    }
  } finally {
    closeSync(home);
  }
}

/** Shared by all answers: 64 KiB of zeros for each would be a quarter of the time. */
const received = Buffer.alloc(64 * 1024);

function dump(libc: Libc, fd: number, request: Uint8Array): readonly Buffer[] {
  if (libc.send(fd, request, request.length, 0) < 0) throw new Error('cannot ask the kernel for interfaces');
  const parts: Buffer[] = [];
  for (;;) {
    const length = libc.recv(fd, received, received.length, 0);
    if (length <= 0) throw new Error('the kernel gave no answer about interfaces');
    const part = Buffer.from(received.subarray(0, length));
    parts.push(part);
    // The end of a dump is a separate message, always the last of its packet.
    if (netlinkDump.isEnd(part)) return parts;
  }
}

function nameOfIndex(libc: Libc, index: number): string {
  const name = Buffer.alloc(16);
  if (libc.if_indextoname(index, name) === null) return '';
  return name.subarray(0, Math.max(0, name.indexOf(0))).toString('latin1');
}

async function linksByIp(pid: number): Promise<readonly NetLink[]> {
  const nsenter = findProgram('nsenter') ?? 'nsenter';
  const ip = findProgram('ip') ?? 'ip';
  const argv = [nsenter, '-t', `${pid}`, '-n', ip, '-j', '-s', '-d', 'addr'];
  const { stdout } = await exec(argv, { timeoutMs: 5_000, maxBytes: 16 * 1024 * 1024 });
  return parseIpJson(stdout);
}
