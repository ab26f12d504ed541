// The time until which a container may begin, in a file that the guard keeps: asked as the last step of a start, so that one that took
// longer than the lease begins nothing, also when daemon and guard are dead or frozen.
import { readFileSync } from 'node:fs';
import { readBootId } from '../../../lib/shared/processes.ts';
import { quoteShell } from '../safe-names.ts';
import { bootSeconds } from './guard-line.ts';

/** Whole seconds since the host was booted, and of which boot: of another one it says that the time has passed. Pure. */
export const startUntilLine = (endS: number, bootId: string): string => `${Math.floor(endS)} ${bootId}\n`;

export const tooLate = 'the time until which it may begin on this host has passed';

/** Without the file nothing limits the start. */
export function mayBegin(file: string): boolean {
  let line: string;
  try {
    line = readFileSync(file, 'utf8');
  } catch {
    return true;
  }
  const [until, bootId] = line.trim().split(' ');
  return bootId === readBootId() && bootSeconds() < Number(until);
}

/** The same as the value of lxc.hook.start-host: a program that fails when the container may not begin. It needs nothing but a shell. */
export function mayBeginHook(file: string): string {
  const quoted = quoteShell(file);
  const script = [
    `[ -e ${quoted} ] || exit 0`,
    `read until of < ${quoted} && read boot < /proc/sys/kernel/random/boot_id && read now rest < /proc/uptime || exit 1`,
    `[ "$of" = "$boot" ] && [ "\${now%%.*}" -lt "$until" ]`,
  ].join('; ');
  return `/bin/sh -c ${quoteShell(script)}`;
}
