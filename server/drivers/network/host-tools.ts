// Runs the host's ip, nft and dnsmasq programs and turns their failures into driver errors; decides nothing about networks.
import { constants, readFileSync } from 'node:fs';
import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { exec, ExecError, type ExecResult } from '../../lib/exec.ts';
import { programDirs } from '../../lib/program-env.ts';
import { DriverError, driverErrors } from '../driver-error.ts';
import { parseLinks, parseRoutes, type Link, type Route } from './ip-commands.ts';
import { attempt } from '../../lib/shared/attempt.ts';

const packages = { ip: 'iproute2', nft: 'nftables', dnsmasq: 'dnsmasq-base' } as const;

/** Absolute path of a tool. Throws DriverError NotSupported naming its package. */
export async function findTool(tool: keyof typeof packages): Promise<string> {
  for (const dir of programDirs) {
    const path = join(dir, tool);
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
  }
  throw driverErrors.notSupported(
    `managed networks need the program ${tool}, which is missing (Debian package ${packages[tool]})`,
  );
}

/** Runs ip or nft. Throws ExecError, or the reason of the abort. */
export async function runTool(
  tool: 'ip' | 'nft',
  args: readonly string[],
  options: { readonly input?: string; readonly okCodes?: readonly number[] } = {},
  signal?: AbortSignal,
): Promise<ExecResult> {
  const path = await findTool(tool);
  signal?.throwIfAborted();
  const { okCodes = [0], input = '' } = options;
  try {
    return await exec([path, ...args], { input, okCodes, maxBytes: 64 * 1024 * 1024 }, signal);
  } catch (error) {
    signal?.throwIfAborted();
    throw error;
  }
}

/** Runs the lines in one `ip` process; the first that fails is named. */
export async function ipBatch(what: string, lines: readonly string[], signal?: AbortSignal): Promise<void> {
  if (lines.length === 0) return;
  try {
    await runTool('ip', ['-batch', '-'], { input: `${lines.join('\n')}\n` }, signal);
  } catch (error) {
    if (!(error instanceof ExecError) || signal?.aborted === true) throw error;
    const line = lines[Number(/Command failed -:([0-9]+)/.exec(error.stderr)?.[1] ?? 0) - 1];
    const reason = error.stderr.replace(/\n?Command failed -:[0-9]+\s*$/, '').trim();
    const isUnknownKind = /Unknown device type|Operation not supported/.test(reason);
    throw new DriverError(
      isUnknownKind ? 'NotSupported' : 'Failed',
      `${what}${line === undefined ? '' : ` (ip ${line})`}: ${reason === '' ? error.message : reason}`,
      error,
    );
  }
}

export async function readLinks(signal?: AbortSignal): Promise<Link[]> {
  return parseLinks(await dump(['-j', '-d', '-s', 'addr', 'show'], signal));
}

/** The hardware address of any interface of the host, from the kernel's own file; undefined if there is no such interface. */
export function readHwaddr(name: string): string | undefined {
  if (!/^[^\s/]{1,15}$/.test(name)) return undefined;
  return attempt(() => readFileSync(`/sys/class/net/${name}/address`, 'utf8').trim());
}

export async function readLink(name: string, signal?: AbortSignal): Promise<Link | undefined> {
  const output = await dump(['-j', '-d', '-s', 'addr', 'show', 'dev', name], signal);
  return parseLinks(output).find((link) => link.name === name);
}

/** Destinations and devices of the routes that `ip route show ARGS` lists. */
export async function readRoutes(family: '-4' | '-6', args: readonly string[], signal?: AbortSignal): Promise<Route[]> {
  return parseRoutes(await dump(['-j', family, 'route', 'show', ...args], signal));
}

/** The kernel truncates a list if interfaces change meanwhile; the list is then read again.
 *  Empty when the interface that was asked for does not exist. */
async function dump(args: readonly string[], signal: AbortSignal | undefined): Promise<string> {
  for (let left = 50; ; left--) {
    const { code, stdout, stderr } = await runTool('ip', args, { okCodes: [0, 1, 2] }, signal);
    if (code === 0 && stderr === '') return stdout;
    if (/does not exist|Cannot find device/.test(stderr)) return '';
    if (left === 0 || !/interrupted|No such device|Device or resource busy/.test(stderr)) {
      throw driverErrors.failed(`ip ${args.join(' ')}: ${stderr.trim() === '' ? `code ${code}` : stderr.trim()}`);
    }
  }
}
