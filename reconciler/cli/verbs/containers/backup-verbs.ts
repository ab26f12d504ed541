// Declares the verbs of the group `gantry backup`.
import { text, toggle } from '../../flags/flag.ts';
import { hostFlags } from '../../flags/host-flags.ts';
import { type Argument, verb } from '../../flags/verb.ts';

const container: Argument = ['<container>', 'the container, or POOL/NAME of a custom volume', 'container'];

export const backupCreate = verb('backup create', 'make a backup of a container or custom volume', {
  args: [container, ['[name]', 'name of the backup (default: backup0, backup1, ...)']],
  flags: {
    ...hostFlags,
    containerOnly: toggle('--container-only', 'without snapshots'),
    optimized: toggle('--optimized', 'use the format of the storage driver, for pools of the same driver'),
    compression: text('--compression <program>', 'none, gzip, zstd, xz, ... (default: as the server is configured)'),
    expires: text('--expires <time>', 'when the server deletes it, such as 2030-01-31T12:00:00Z'),
  },
});

export const backupList = verb('backup list', 'list the backups of a container or custom volume', {
  alias: 'ls',
  args: [container],
  flags: hostFlags,
});

export const backupExport = verb('backup export', 'download a backup', {
  args: [
    container,
    ['<name>', 'name of the backup'],
    ['[file]', 'file to create, or - for stdout (default: CONTAINER-NAME.backup, or that of the volume)', 'file'],
  ],
  flags: hostFlags,
});

export const backupImport = verb('backup import', 'create a container or custom volume from a backup file', {
  args: [
    ['<file>', 'the backup, or - for stdin'],
    ['[name]', 'name of the container, or POOL/NAME of a volume (default: as in the backup; POOL/ for a volume)'],
  ],
  flags: {
    ...hostFlags,
    storage: text('-s, --storage <pool>', 'pool for its files (default: as in the backup)'),
    allowHostAccess: toggle('--allow-host-access', 'allow access to the host: privileged, paths of the host, raw.*'),
  },
});

export const backupDelete = verb('backup delete', 'delete backups of a container or custom volume', {
  alias: 'rm',
  args: [container, ['<name...>', 'names of the backups']],
  flags: hostFlags,
});
