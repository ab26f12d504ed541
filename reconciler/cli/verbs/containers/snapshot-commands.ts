// The `gantry snapshot` group as commander knows it; the code is loaded when a command runs.
import { Option, type Command } from 'commander';
import type { AddCommand } from '../images/image-commands.ts';
import type { CliOptions } from '../../flags/options.ts';

export interface SnapshotOptions extends CliOptions {
  readonly expires?: string;
  readonly description?: string;
  readonly stateful?: boolean;
}

const aSnapshot = 'as NAME/SNAPSHOT';

export function addSnapshotCommands(add: AddCommand, program: Command, withHost: (command: Command) => Command): void {
  const snapshot = program
    .command('snapshot')
    .description('snapshots of containers: create, list, show, rename, restore, delete');
  add(
    'create',
    'take a snapshot of a container',
    (command) =>
      withHost(command.argument('<name>', 'the container, or NAME/SNAPSHOT (default: a name by its snapshots.pattern)'))
        .addOption(new Option('--expires <when>', 'delete it after this long (2w, 1d 12H) or at this time (RFC 3339)'))
        .addOption(new Option('--description <text>', 'what it is for'))
        .addOption(new Option('--stateful', 'with the memory of its processes; needs CRIU on the host')),
    async (context, args, options) => (await import('./snapshot.ts')).createSnapshot(context, args, options),
    snapshot,
  );
  add(
    'list',
    'snapshots of a container, the oldest first',
    (command) => withHost(command.argument('<name>', 'the container')),
    async (context, args) => (await import('./snapshot.ts')).listSnapshots(context, args),
    snapshot,
  ).alias('ls');
  add(
    'show',
    'snapshots as the API has them',
    (command) => withHost(command.argument('<snapshot...>', aSnapshot)),
    async (context, args) => (await import('./snapshot.ts')).showSnapshots(context, args),
    snapshot,
  );
  add(
    'rename',
    'give a snapshot another name',
    (command) => withHost(command.argument('<snapshot>', aSnapshot).argument('<new-name>', 'without the container')),
    async (context, args) => (await import('./snapshot.ts')).renameSnapshot(context, args),
    snapshot,
  ).alias('mv');
  add(
    'restore',
    'put a container back to a snapshot; a running one is stopped for it and started again',
    (command) =>
      withHost(command.argument('<snapshot>', aSnapshot)).addOption(
        new Option('--stateful', 'with the memory of its processes'),
      ),
    async (context, args, options) => (await import('./snapshot.ts')).restoreSnapshot(context, args, options),
    snapshot,
  );
  add(
    'delete',
    'delete snapshots',
    (command) => withHost(command.argument('<snapshot...>', aSnapshot)),
    async (context, args) => (await import('./snapshot.ts')).deleteSnapshots(context, args),
    snapshot,
  ).alias('rm');
}
