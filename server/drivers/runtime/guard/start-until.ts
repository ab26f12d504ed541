// The deadline for starting a container, in a file that the guard keeps: checked as the last step of a start, so that a start slower than
// the lease begins nothing, even if daemon and guard are dead or frozen.
import { readFileSync } from 'node:fs';
import { readBootId } from '../../../lib/shared/processes.ts';
import { quoteShell } from '../safe-names.ts';
import { bootSeconds } from './guard-line.ts';
import { attempt } from '../../../lib/shared/attempt.ts';

/** Whole seconds since the host's boot, and that boot's id: in another boot the deadline has passed. Pure. */
export const startUntilLine = (endS: number, bootId: string): string => `${Math.floor(endS)} ${bootId}\n`;

export const tooLate = 'its deadline for starting on this host has passed';

/** Without the file there is no deadline. */
export function mayBegin(file: string): boolean {
  const line = attempt(() => readFileSync(file, 'utf8'));
  if (line === undefined) return true;
  const [until, bootId] = line.trim().split(' ');
  return bootId === readBootId() && bootSeconds() < Number(until);
}

/** The check as a value of lxc.hook.start-host: a program that fails after the deadline. It needs only a shell. */
export function mayBeginHook(file: string): string {
  const quoted = quoteShell(file);
  const script = [
    `[ -e ${quoted} ] || exit 0`,
    `read until of < ${quoted} && read boot < /proc/sys/kernel/random/boot_id && read now rest < /proc/uptime || exit 1`,
    `[ "$of" = "$boot" ] && [ "\${now%%.*}" -lt "$until" ]`,
  ].join('; ');
  return `/bin/sh -c ${quoteShell(script)}`;
}
