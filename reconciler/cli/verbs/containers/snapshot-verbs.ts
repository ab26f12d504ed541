// Declares the verbs of the group `gantry snapshot`.
import { text, toggle } from '../../flags/flag.ts';
import { hostFlags } from '../../flags/host-flags.ts';
import type { OptionsOf, Verb } from '../../flags/verb.ts';

const aSnapshot = 'as NAME/SNAPSHOT';

export const snapshotCreate = {
  name: 'snapshot create',
  summary: 'take a snapshot of a container',
  args: [['<name>', 'the container, or NAME/SNAPSHOT (default: a name by its snapshots.pattern)', 'container']],
  flags: {
    ...hostFlags,
    expires: text('--expires <when>', 'delete it after this long (2w, 1d 12H) or at this time (RFC 3339)'),
    description: text('--description <text>', 'description of the snapshot'),
    stateful: toggle('--stateful', 'include the memory of its processes; needs CRIU on the host'),
  },
} satisfies Verb;
export type SnapshotCreateOptions = OptionsOf<typeof snapshotCreate>;

export const snapshotList = {
  name: 'snapshot list',
  alias: 'ls',
  summary: 'list the snapshots of a container, oldest first',
  args: [['<name>', 'the container', 'container']],
  flags: hostFlags,
} satisfies Verb;

export const snapshotShow = {
  name: 'snapshot show',
  summary: 'show snapshots as the API returns them',
  args: [['<snapshot...>', aSnapshot, 'snapshot']],
  flags: hostFlags,
} satisfies Verb;

export const snapshotRename = {
  name: 'snapshot rename',
  alias: 'mv',
  summary: 'rename a snapshot',
  args: [
    ['<snapshot>', aSnapshot, 'snapshot'],
    ['<new-name>', 'without the container'],
  ],
  flags: hostFlags,
} satisfies Verb;

export const snapshotRestore = {
  name: 'snapshot restore',
  summary: 'restore a container from a snapshot; a running container is stopped and started again',
  args: [['<snapshot>', aSnapshot, 'snapshot']],
  flags: { ...hostFlags, stateful: toggle('--stateful', 'restore the memory of its processes too') },
} satisfies Verb;
export type SnapshotRestoreOptions = OptionsOf<typeof snapshotRestore>;

export const snapshotDelete = {
  name: 'snapshot delete',
  alias: 'rm',
  summary: 'delete snapshots',
  args: [['<snapshot...>', aSnapshot, 'snapshot']],
  flags: hostFlags,
} satisfies Verb;
