// The `gantry backup` group as commander knows it; the code of its commands is loaded when one runs.
import { Option, type Command } from 'commander';
import type { AddCommand } from '../images/image-commands.ts';
import type { CliOptions } from '../../flags/options.ts';

export interface BackupOptions extends CliOptions {
  readonly containerOnly?: boolean;
  readonly optimized?: boolean;
  readonly compression?: string;
  readonly expires?: string;
  readonly storage?: string;
  readonly allowHostAccess?: boolean;
}

export function addBackupCommands(add: AddCommand, program: Command, withHost: (command: Command) => Command): void {
  const backup = program.command('backup').description('backups of containers: create, list, export, import, delete');
  add(
    'create',
    'make a backup of a container',
    (command) =>
      withHost(
        command
          .argument('<container>')
          .argument('[name]', 'default: backup0, backup1 …')
          .addOption(new Option('--container-only', 'without its snapshots'))
          .addOption(new Option('--optimized', 'in the form of its storage driver, for pools of the same driver'))
          .addOption(new Option('--compression <program>', 'none, gzip, zstd, xz … (default: as the server is set)'))
          .addOption(new Option('--expires <time>', 'when it is deleted, such as 2030-01-31T12:00:00Z')),
      ),
    async (context, args, options) => (await import('./backup.ts')).createBackup(context, args, options),
    backup,
  );
  add(
    'list',
    'backups of a container',
    (command) => withHost(command.argument('<container>')),
    async (context, args) => (await import('./backup.ts')).listBackups(context, args),
    backup,
  ).alias('ls');
  add(
    'export',
    'download a backup',
    (command) =>
      withHost(
        command
          .argument('<container>')
          .argument('<name>', 'of the backup')
          .argument('[file]', 'file to make, or - for stdout (default: CONTAINER-NAME.backup)'),
      ),
    async (context, args) => (await import('./backup.ts')).exportBackup(context, args),
    backup,
  );
  add(
    'import',
    'make a container of a backup file',
    (command) =>
      withHost(
        command
          .argument('<file>', 'the backup, or - for stdin')
          .argument('[name]', 'of the container (default: as in the backup)')
          .addOption(new Option('-s, --storage <pool>', 'pool for its files (default: as in the backup)'))
          .addOption(
            new Option(
              '--allow-host-access',
              'also when it brings access to the host: privileged, paths of the host, raw.*',
            ),
          ),
      ),
    async (context, args, options) => (await import('./backup.ts')).importBackupFile(context, args, options),
    backup,
  );
  add(
    'delete',
    'delete backups of a container',
    (command) => withHost(command.argument('<container>').argument('<name...>', 'of the backups')),
    async (context, args) => (await import('./backup.ts')).deleteBackups(context, args),
    backup,
  ).alias('rm');
}
