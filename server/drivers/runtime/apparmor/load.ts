// Loads a container's AppArmor profile into the kernel, and unloads it with the namespace of the container's own profiles.
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { exec, ExecError } from '../../../lib/exec.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import { programEnv } from '../../../lib/program-env.ts';
import { driverErrors } from '../../driver-error.ts';
import { findProgram } from '../host/programs.ts';
import { labelOf, renderProfile, type ProfileFacts } from './profile.ts';
import { textOrNothing } from '../../../lib/shared/missing-files.ts';

/** absent: the kernel has no AppArmor. withoutParser: it has, but no program can load a profile. */
export type ApparmorSupport = 'absent' | 'withoutParser' | 'full';

export function findApparmor(): ApparmorSupport {
  if (textOrNothing('/sys/module/apparmor/parameters/enabled').trim() !== 'Y') return 'absent';
  return findProgram('apparmor_parser') === undefined ? 'withoutParser' : 'full';
}

const interfaceDir = '/sys/kernel/security/apparmor';
const namespaceDir = (name: string): string => `${interfaceDir}/policy/namespaces/${name}`;
const loadTimeoutMs = 60_000;

/** Replaces the profile of an earlier run. Returns the label for the container's processes. */
export async function loadProfile(file: string, facts: ProfileFacts): Promise<string> {
  writeFileSync(file, renderProfile(facts), { mode: 0o600 });
  const parser = [findProgram('apparmor_parser') ?? 'apparmor_parser', '--replace', '--skip-cache', '--quiet', file];
  try {
    await exec(parser, { env: programEnv, cwd: '/', timeoutMs: loadTimeoutMs });
  } catch (error) {
    const reason = error instanceof ExecError && error.stderr !== '' ? error.stderr.trim() : errorText(error);
    const hint = facts.raw.trim() === '' ? '' : '; it includes raw.apparmor';
    throw driverErrors.failed(`The AppArmor profile cannot be loaded${hint}: ${reason}`, error);
  }
  mkdirSync(namespaceDir(facts.name), { recursive: true });
  return labelOf(facts.name);
}

/** Idempotent. Call it only after the container's last process: a process without its profile is unconfined. */
export function unloadProfile(name: string): void {
  if (!existsSync(`${interfaceDir}/.remove`)) return;
  quietly(() => rmdirSync(namespaceDir(name)));
  quietly(() => writeFileSync(`${interfaceDir}/.remove`, name));
}

function quietly(work: () => void): void {
  try {
    work();
  } catch {
    // It does not exist.
  }
}
