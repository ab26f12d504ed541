// Declares the verbs of the group `gantry snapshot`.
import { text, toggle } from '../../flags/flag.ts';
import { hostFlags } from '../../flags/host-flags.ts';
import { verb } from '../../flags/verb.ts';

const aSnapshot = 'as NAME/SNAPSHOT';

export const snapshotCreate = verb('snapshot create', 'take a snapshot of a container', {
  args: [['<name>', 'the container, or NAME/SNAPSHOT (default: a name by its snapshots.pattern)', 'container']],
  flags: {
    ...hostFlags,
    expires: text('--expires <when>', 'delete it after this long (2w, 1d 12H) or at this time (RFC 3339)'),
    description: text('--description <text>', 'description of the snapshot'),
    stateful: toggle('--stateful', 'include the memory of its processes; needs CRIU on the host'),
  },
});

export const snapshotList = verb('snapshot list', 'list the snapshots of a container, oldest first', {
  alias: 'ls',
  args: [['<name>', 'the container', 'container']],
  flags: hostFlags,
});

export const snapshotShow = verb('snapshot show', 'show snapshots as the API returns them', {
  args: [['<snapshot...>', aSnapshot, 'snapshot']],
  flags: hostFlags,
});

export const snapshotRename = verb('snapshot rename', 'rename a snapshot', {
  alias: 'mv',
  args: [
    ['<snapshot>', aSnapshot, 'snapshot'],
    ['<new-name>', 'without the container'],
  ],
  flags: hostFlags,
});

export const snapshotRestore = verb(
  'snapshot restore',
  'restore a container from a snapshot; a running container is stopped and started again',
  {
    args: [['<snapshot>', aSnapshot, 'snapshot']],
    flags: { ...hostFlags, stateful: toggle('--stateful', 'restore the memory of its processes too') },
  },
);

export const snapshotDelete = verb('snapshot delete', 'delete snapshots', {
  alias: 'rm',
  args: [['<snapshot...>', aSnapshot, 'snapshot']],
  flags: hostFlags,
});
