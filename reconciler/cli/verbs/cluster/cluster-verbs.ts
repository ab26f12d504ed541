// Declares the verbs of the group `gantry cluster`: forming a cluster, and its members.
import { list, text, toggle } from '../../flags/flag.ts';
import { hostFlags } from '../../flags/host-flags.ts';
import { outputFlag } from '../../flags/output-flags.ts';
import { type Argument, type OptionsOf, verb } from '../../flags/verb.ts';

const member: Argument = ['<member>', 'name of a member'];
const address = {
  address: text('--address <host:port>', 'where the other members reach this host (default: its core.https_address)'),
};

export const clusterBootstrap = verb(
  'cluster bootstrap',
  'make a cluster of a host, which is its first member; containers run on',
  {
    args: [['<name>', 'name of the host in the cluster']],
    flags: { ...hostFlags, ...address },
    examples: ['gantry cluster bootstrap one --address 10.0.0.1:8443'],
  },
);

export const clusterAdd = verb('cluster add', 'make a token with which a host joins the cluster once', {
  args: [['<name>', 'name that the host gets in the cluster']],
  flags: hostFlags,
  examples: ['gantry cluster add two'],
});

export const clusterJoin = verb(
  'cluster join',
  'make a host without containers a member of a cluster, by a token of gantry cluster add',
  {
    args: [['<token>', 'the token, or - for stdin']],
    flags: {
      ...hostFlags,
      ...address,
      memberConfig: list(
        '--member-config <kind/name/key=value>',
        'key of a storage_pool or network that the host has for itself',
      ),
    },
    examples: [
      'gantry cluster join TOKEN --address 10.0.0.2:8443',
      'gantry cluster join TOKEN --member-config storage_pool/fast/source=/dev/sdb',
    ],
  },
);

export const clusterList = verb('cluster list', 'list the members of the cluster', {
  alias: 'ls',
  flags: { ...hostFlags, ...outputFlag('table (default), yaml, json, name') },
});

export const clusterShow = verb('cluster show', 'print members of the cluster', {
  args: [['<member...>', 'names of members']],
  flags: { ...hostFlags, ...outputFlag('yaml (default), json') },
});

export const clusterRename = verb('cluster rename', 'give a member another name', {
  args: [member, ['<new-name>', 'its new name']],
  flags: hostFlags,
});

export const clusterRemove = verb('cluster remove', 'remove a member without containers from the cluster', {
  alias: 'rm',
  args: [member],
  flags: {
    ...hostFlags,
    force: toggle('--force', 'remove a member that does not answer too, with the records of its objects'),
    yes: toggle('--yes', 'with --force: also a member that is online, with the containers and volumes that it has'),
  },
  examples: ['gantry cluster remove three', 'gantry cluster remove three --force'],
});

const force = { force: toggle('--force', 'stop containers by force, without time for a clean stop') };

export const clusterEvacuate = verb(
  'cluster evacuate',
  'move the containers of a member to others, or stop them: it takes none until it is restored',
  {
    args: [member],
    flags: {
      ...hostFlags,
      mode: text('--mode <mode>', "auto, migrate, live-migrate or stop, in place of each container's cluster.evacuate"),
      ...force,
    },
    examples: ['gantry cluster evacuate two', 'gantry cluster evacuate two --mode stop'],
  },
);

export const clusterRestore = verb(
  'cluster restore',
  'end the evacuation of a member: its containers come back, and those that ran run again',
  { args: [member], flags: { ...hostFlags, ...force }, examples: ['gantry cluster restore two'] },
);
export type ClusterRestoreOptions = OptionsOf<typeof clusterRestore>;
