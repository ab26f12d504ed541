// Flags about labels and several hosts, for the commands that take them.
import { Option, type Command } from 'commander';
import type { CliOptions } from './options.ts';
import { usageError } from '../errors/usage-error.ts';

export const withSelector = (command: Command): Command =>
  command
    .addOption(
      new Option('-l, --selector <labels>', 'objects by labels: app=web,tier!=db,env in (a,b); with --hosts: hosts'),
    )
    .addOption(new Option('--object-selector <labels>', 'objects by labels, also with --hosts'));

/** For commands that are about no documents. */
export const withHostSelector = (command: Command): Command =>
  command.addOption(new Option('-l, --selector <labels>', 'with --hosts: hosts by labels'));

export const withRollout = (command: Command): Command =>
  command
    .addOption(new Option('--batch <n|n%>', 'with --hosts: so many hosts at a time (default 1)'))
    .addOption(new Option('--canary <n|host>', 'with --hosts: these first, as a batch of their own'))
    .addOption(new Option('--keep-going', 'with --hosts: go on with the other hosts after one failed'));

export const hostsOption = (): Option =>
  new Option('--hosts <file>', 'several hosts from a hosts file; --host then names some: NAME, @GROUP or labels');

/** `--host` may be repeated where it names hosts of a file. */
export const anotherHost = (value: string, earlier: string | undefined): string =>
  earlier === undefined ? value : `${earlier}\n${value}`;

/** Flags that mean nothing without --hosts. */
export function refuseRolloutFlags(
  { hosts, batch, canary, keepGoing, host, selector }: CliOptions,
  takesLabels: boolean,
): void {
  if (hosts !== undefined) return;
  if (selector !== undefined && !takesLabels)
    throw usageError('--selector chooses hosts here: give them with --hosts FILE');
  const flag =
    batch !== undefined ? '--batch' : canary !== undefined ? '--canary' : keepGoing === true ? '--keep-going' : '';
  if (flag !== '') throw usageError(`${flag} is for several hosts: give them with --hosts FILE`);
  if (host?.includes('\n') === true)
    throw usageError('several --host are for names of a hosts file: give it with --hosts');
}
