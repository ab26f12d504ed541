// Declares the verbs of daily work: launch, power, delete, list, info, logs, shell, top, set, edit, port-forward.
import { inSection, list as listFlag, text, toggle } from '../../flags/flag.ts';
import { hostFlags, hostSelectorFlag, selectorFlags } from '../../flags/host-flags.ts';
import { outputFlag } from '../../flags/output-flags.ts';
import { approveFlag } from '../../flags/plan-flags.ts';
import { type Argument, type OptionsOf, verb } from '../../flags/verb.ts';

const containersArg: readonly Argument[] = [['<name...>', 'containers; * stands for any text', 'container']];
const powerFlags = { ...hostFlags, ...hostSelectorFlag };
const stopFlags = {
  ...powerFlags,
  force: toggle('-f, --force', 'kill its processes instead of asking them to end'),
  grace: text('-t, --grace <duration>', 'fail when it has not ended by itself after this long (default 30s)'),
};

export const launch = verb('launch', 'make a container of an image and start it: gantry launch images:debian/12 web', {
  args: [
    ['<image>', 'REMOTE:ALIAS (gantry remote list), or alias or fingerprint of an image of the server', 'source'],
    ['[name]', 'name of the container (default: one that the server makes up)'],
  ],
  flags: {
    ...hostFlags,
    profile: listFlag('-p, --profile <name>', 'profile; may be repeated (default: default)'),
    config: listFlag('-c, --config <key=value>', 'config key; may be repeated'),
    storage: text('--storage <pool>', 'pool of its root disk (default: what the profiles say, or the only one)'),
    network: text('--network <name>', 'network of its card (default: what the profiles say, or the only one)'),
    ephemeral: toggle('--ephemeral', 'delete it when it stops'),
    start: toggle('--no-start', 'only make it'),
  },
  examples: ['gantry launch images:debian/12 web', 'gantry launch ubuntu:22.04 db -c limits.memory=1GiB'],
});
export type LaunchOptions = OptionsOf<typeof launch>;

export const start = verb('start', 'start containers, or continue paused ones', {
  args: containersArg,
  flags: powerFlags,
});
export type StartOptions = OptionsOf<typeof start>;

export const stop = verb('stop', 'stop containers', {
  args: containersArg,
  flags: stopFlags,
  examples: ['gantry stop web1', "gantry stop 'web*' --hosts hosts.yaml"],
});
export type StopOptions = OptionsOf<typeof stop>;

export const restart = verb('restart', 'stop containers and start them again', {
  args: containersArg,
  flags: stopFlags,
});

export const pause = verb('pause', 'freeze the processes of containers; start continues them', {
  args: containersArg,
  flags: powerFlags,
});

export const deleteObjects = verb(
  'delete',
  'delete containers, or other objects as KIND/NAME; asks when a set declares them',
  {
    alias: 'rm',
    args: [['<name...>', 'containers, or KIND/NAME; * stands for any text', 'object']],
    flags: {
      ...powerFlags,
      force: toggle('-f, --force', 'stop running containers first'),
      ...approveFlag,
      ...inSection('Execution:', { input: toggle('--no-input', 'never ask; what a set declares needs -y') }),
    },
    examples: ['gantry delete web1', 'gantry delete network/br0 profile/base'],
  },
);
export type DeleteOptions = OptionsOf<typeof deleteObjects>;

export const list = verb('list', 'list containers with their state, addresses and set', {
  alias: 'ls',
  args: [['[name...]', 'only these; * stands for any text', 'container']],
  flags: {
    ...hostFlags,
    ...selectorFlags,
    ...outputFlag('table, yaml or json (the containers as the API has them, with their state), or name'),
    allProjects: toggle('-A, --all-projects', 'in every project of the server'),
  },
  examples: ['gantry list', "gantry list 'web*' -o json"],
});
export type ListOptions = OptionsOf<typeof list>;

export const info = verb(
  'info',
  'show the state of a container: addresses, use of memory and disk, snapshots, the set that declares it',
  { args: [['<name>', 'the container', 'container']], flags: hostFlags },
);

export const logs = verb('logs', "print what a container wrote to its console, or LXC's log of it", {
  args: [['<name>', 'the container', 'container']],
  flags: {
    ...hostFlags,
    follow: toggle('-f, --follow', 'keep printing until the container stops'),
    tail: text('-n, --tail <lines>', 'begin with the last lines only'),
    log: text('--log <file>', 'print this log instead, such as lxc.log; list: the names of all'),
  },
  examples: ['gantry logs web1 -f', 'gantry logs web1 --log lxc.log'],
});
export type LogsOptions = OptionsOf<typeof logs>;

export const shell = verb('shell', 'open a shell in a container', {
  args: [['<name>', 'the container', 'container']],
  flags: { ...hostFlags, user: text('--user <name>', 'log in as this user (default root)') },
});
export type ShellOptions = OptionsOf<typeof shell>;

export const top = verb('top', 'show what running containers use of processor, memory and network', {
  args: [['[name...]', 'only these; * stands for any text', 'container']],
  flags: {
    ...hostFlags,
    once: toggle('--once', 'print one table and end (the default when stdout is no terminal)'),
    interval: text('--interval <duration>', 'time between two readings (default 2s)'),
  },
  examples: ['gantry top', "gantry top 'web*' --once"],
});
export type TopOptions = OptionsOf<typeof top>;

export const setKeys = verb(
  'set',
  'set config keys of a container, or of KIND/NAME, and say what the next apply does with them',
  {
    args: [
      ['<name>', 'the container, or KIND/NAME', 'object'],
      ['<key=value...>', 'config keys; KEY= removes one', 'config'],
    ],
    flags: hostFlags,
    examples: ['gantry set web1 limits.memory=1GiB', 'gantry set profile/base limits.cpu=2 user.note='],
  },
);

export const edit = verb('edit', 'change a container, or KIND/NAME, as YAML in $VISUAL or $EDITOR, or from stdin', {
  args: [['<name>', 'the container, or KIND/NAME', 'object']],
  flags: hostFlags,
  examples: ['gantry edit web1', 'gantry edit profile/base < base.yaml'],
});

export const portForward = verb('port-forward', 'forward ports of this machine into a container, until Ctrl-C', {
  args: [
    ['<name>', 'the container', 'container'],
    ['<port...>', '[LOCAL:]PORT: the port in the container, and the one here (default: the same; empty: any free one)'],
  ],
  flags: {
    ...hostFlags,
    address: text('--address <ip>', 'listen at this address of this machine (default 127.0.0.1)'),
  },
  examples: ['gantry port-forward web1 8080:80'],
});
export type PortForwardOptions = OptionsOf<typeof portForward>;
