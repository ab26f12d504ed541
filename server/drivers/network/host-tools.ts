// Runs the host's ip, nft and dnsmasq programs and turns their failures into driver errors; decides nothing about networks.
import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { delimiter, join } from 'node:path';
import { exec, ExecError } from '../../lib/exec.ts';
import type { ExecResult } from '../../lib/exec.ts';
import { DriverError } from '../driver-error.ts';
import { parseLinks } from './ip-commands.ts';
import type { Link } from './ip-commands.ts';

const packages = { ip: 'iproute2', nft: 'nftables', dnsmasq: 'dnsmasq-base' } as const;
export type HostTool = keyof typeof packages;

/** A daemon's PATH often lacks the directories of the superuser. */
function searchPath(): string[] {
  return [...(process.env['PATH'] ?? '').split(delimiter), '/usr/sbin', '/sbin', '/usr/bin', '/bin'].filter(
    (dir) => dir !== '',
  );
}

/** Absolute path of a tool. Throws DriverError NotSupported naming its package. */
export async function findTool(tool: HostTool): Promise<string> {
  for (const dir of searchPath()) {
    const path = join(dir, tool);
    const isThere = await access(path, constants.X_OK).then(
      () => true,
      () => false,
    );
    if (isThere) return path;
  }
  throw new DriverError(
    'NotSupported',
    `managed networks need the program ${tool}, which is missing (Debian package ${packages[tool]})`,
  );
}

export async function runTool(
  tool: HostTool,
  args: readonly string[],
  options: { readonly input?: string; readonly okCodes?: readonly number[] } = {},
  signal?: AbortSignal,
): Promise<ExecResult> {
  const path = await findTool(tool);
  signal?.throwIfAborted();
  return exec(
    [path, ...args],
    { ...options, maxBytes: 64 * 1024 * 1024, env: { LC_ALL: 'C', PATH: searchPath().join(delimiter) } },
    signal,
  );
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

/** One transaction: all of the rules or none. */
export async function nftApply(what: string, ruleset: string, signal?: AbortSignal): Promise<void> {
  try {
    await runTool('nft', ['-f', '-'], { input: ruleset }, signal);
  } catch (error) {
    if (!(error instanceof ExecError) || signal?.aborted === true) throw error;
    throw new DriverError(
      'Failed',
      `${what}: ${error.stderr.trim() === '' ? error.message : error.stderr.trim()}`,
      error,
    );
  }
}

export async function readLinks(signal?: AbortSignal): Promise<Link[]> {
  return parseLinks((await runTool('ip', ['-j', '-d', '-s', 'addr', 'show'], {}, signal)).stdout);
}

/** undefined when there is no interface of that name. */
export async function readLink(name: string, signal?: AbortSignal): Promise<Link | undefined> {
  const result = await runTool('ip', ['-j', '-d', '-s', 'addr', 'show', 'dev', name], { okCodes: [0, 1] }, signal);
  return result.code === 0 ? parseLinks(result.stdout).find((link) => link.name === name) : undefined;
}
