// Starts, identifies, signals and ends the one dnsmasq of a network; a process is touched only after its command line proved that it is
// ours. The meaning of its arguments is decided elsewhere.
import { rm } from 'node:fs/promises';
import { basename, dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode } from '../../../lib/shared/error-code.ts';
import { exec, ExecError } from '../../../lib/exec.ts';
import { repeatWhile } from '../../../lib/shared/repeat.ts';
import { readProc, readProcess } from '../../../lib/shared/processes.ts';
import { driverErrors } from '../../driver-error.ts';
import { findTool } from '../host-tools.ts';
import { textOrNothing } from '../../../lib/shared/missing-files.ts';

/** Program and arguments of a process; empty if it has ended (or is a zombie). */
function commandLine(pid: number): string[] {
  const text = readProc(`${pid}/cmdline`) ?? '';
  return text === '' ? [] : text.replace(/\0$/, '').split('\0');
}

function isOurs(argv: readonly string[], pidFile: string): boolean {
  return basename(argv[0] ?? '') === 'dnsmasq' && argv.includes(`--pid-file=${pidFile}`);
}

/** The running dnsmasq that writes this pid file. The file itself proves nothing: dnsmasq's unprivileged user owns it. */
export function findDnsmasq(pidFile: string): { pid: number; args: string[] } | undefined {
  const pid = Number(textOrNothing(pidFile));
  if (!Number.isInteger(pid) || pid <= 1) return undefined;
  const argv = commandLine(pid);
  return isOurs(argv, pidFile) ? { pid, args: argv.slice(1) } : undefined;
}

export function sameArguments(a: readonly string[], b: readonly string[]): boolean {
  return a.length === b.length && a.every((value, index) => value === b[index]);
}

/** To bind its ports to the bridge, to send to clients without an address, and to become its unprivileged user. */
const kept = ['net_bind_service', 'net_admin', 'net_raw', 'setuid', 'setgid', 'chown'];

/** A link went while dnsmasq listed them, as when a container stops just then; it has done nothing by then. */
const metEndingLink = (error: unknown): boolean =>
  error instanceof ExecError && error.stderr.includes('failed to find list of interfaces');

/** It processes any packet from containers, so it is confined: it writes only in the folders of its own files. Resolves when it serves:
 *  dnsmasq goes into the background only after its sockets are bound. */
export async function startDnsmasq(name: string, args: readonly string[]): Promise<void> {
  const program = await findTool('dnsmasq');
  const start = (): Promise<unknown> =>
    exec([program, ...args], {
      timeoutMs: 10_000,
      cwd: '/',
      confinement: { writes: foldersOf(args), keeps: kept, isServer: true, outlives: true },
    });
  try {
    await repeatWhile(start, { mayPass: metEndingLink, runs: 10, pauseMs: 20 });
  } catch (error) {
    const said = error instanceof ExecError ? error.stderr.trim() : '';
    const reason = said === '' ? (error as Error).message : said.replaceAll(/^dnsmasq: /gm, '');
    throw driverErrors.failed(`start dnsmasq of network ${name}: ${reason}`, error);
  }
}

function foldersOf(args: readonly string[]): readonly string[] {
  const files = args.flatMap((arg) => /^--(?:pid-file|log-facility|dhcp-leasefile)=(.*)$/.exec(arg)?.[1] ?? []);
  return [...new Set(files.map((file) => dirname(file)))];
}

/** Idempotent; resolves when the process has ended. */
export async function stopDnsmasq(pidFile: string): Promise<void> {
  const found = findDnsmasq(pidFile);
  if (found !== undefined) {
    signalProcess(found.pid, 'SIGTERM');
    if (!(await isGone(found.pid)) && findDnsmasq(pidFile)?.pid === found.pid) {
      signalProcess(found.pid, 'SIGKILL');
      await isGone(found.pid);
    }
  }
  await rm(pidFile, { force: true });
}

/** Makes it read its hosts file again. False if none runs. */
export function reloadDnsmasq(pidFile: string): boolean {
  const found = findDnsmasq(pidFile);
  return found !== undefined && signalProcess(found.pid, 'SIGHUP');
}

function signalProcess(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal);
  } catch (error) {
    if (hasCode(error, 'ESRCH')) return false;
    throw error;
  }
}

/** Within three seconds. */
async function isGone(pid: number): Promise<boolean> {
  const end = Date.now() + 3000;
  while (!hasEnded(pid)) {
    if (Date.now() > end) return false;
    await sleep(2);
  }
  return true;
}

/** The command line is empty some time before the sockets are closed; only a zombie or an absent process has closed them. */
const hasEnded = (pid: number): boolean => readProcess(pid)?.isZombie !== false;
