// Checks whether LXC containers can run on this host, and with what. Changes nothing.
import { readdirSync } from 'node:fs';
import { exec } from '../../../lib/exec.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import { findProgram } from '../host/programs.ts';
import { hostIdMap } from '../idmap/id-map.ts';
import { attempt } from '../../../lib/shared/attempt.ts';

/** Whether this host can run the lxc driver, with the reason (and remedy) if it cannot. */
export async function lxcAvailable(): Promise<
  { readonly ok: true; readonly version: string } | { readonly ok: false; readonly reason: string }
> {
  if (process.platform !== 'linux') return { ok: false, reason: `LXC needs Linux, this is ${process.platform}` };
  if (process.getuid?.() !== 0) return { ok: false, reason: 'running containers needs root' };
  const missing = ['lxc-start', 'lxc-attach', 'lxc-wait', 'ip'].filter((name) => findProgram(name) === undefined);
  if (missing.length > 0) {
    return { ok: false, reason: `not installed: ${missing.join(', ')} (packages lxc and iproute2)` };
  }
  try {
    const version = await lxcVersion();
    if (Number.parseInt(version, 10) < 5) return { ok: false, reason: `LXC ${version} is too old: 5.0 is needed` };
    await hostIdMap();
    return { ok: true, version };
  } catch (error) {
    return { ok: false, reason: errorText(error) };
  }
}

let knownVersion: string | undefined;

/** Asks the program once: a daemon's start needs it in several places. */
export async function lxcVersion(): Promise<string> {
  if (knownVersion === undefined) {
    const { stdout } = await exec([findProgram('lxc-start') ?? 'lxc-start', '--version'], { timeoutMs: 10_000 });
    knownVersion = stdout.trim();
  }
  return knownVersion;
}

const lxcfsDir = '/var/lib/lxcfs/proc';

/** Files that lxcfs offers to mount over those of /proc; none if it does not run. */
export const findLxcfsFiles = (): readonly string[] =>
  attempt(() => readdirSync(lxcfsDir).filter((file) => /^[a-z]+$/.test(file)), []);
