// Declares the verbs that work in one container: exec, console, copy, move, file.
import { list, text, toggle } from '../../flags/flag.ts';
import { hostFlags } from '../../flags/host-flags.ts';
import { type Argument, type OptionsOf, verb } from '../../flags/verb.ts';

export const exec = verb('exec', 'run a command in a container: gantry exec NAME COMMAND...', {
  runsCommand: true,
  args: [['<name command...>', 'the container, then the command and its arguments', 'container']],
  flags: {
    ...hostFlags,
    tty: toggle('-t, --tty', 'allocate a terminal (default: when this program has one)', {
      opposite: toggle('-T, --no-tty', 'use pipes'),
    }),
    // People type -it by habit: input always goes to the command.
    interactive: toggle('-i, --interactive', 'has no effect', { isHidden: true }),
    env: list('-e, --env <name=value>', 'set an environment variable of the command; may be repeated'),
    cwd: text('-w, --cwd <dir>', 'working directory of the command'),
    user: text('-u, --user <id>', 'user id in the container (default 0)'),
    group: text('--group <id>', 'group id in the container (default 0)'),
  },
  examples: ['gantry exec web1 systemctl status nginx', 'gantry exec web1 --user 1000 -- id'],
});
export type ExecOptions = OptionsOf<typeof exec>;

export const attachConsole = verb('console', "attach to a container's console; Ctrl-a q detaches", {
  args: [['<name...>', 'the container', 'container']],
  flags: hostFlags,
});

const copyArgs: readonly Argument[] = [
  ['<name>', 'the container, or a snapshot of it as NAME/SNAPSHOT', 'container'],
  ['[new-name]', 'name of the copy (default: the same, on another server)'],
];
const copyFlags = {
  ...hostFlags,
  targetHost: text('--target-host <url>', 'server to copy to: an address or a context (default: the same server)'),
  targetClientCert: text('--target-client-cert <file>', 'client certificate for that server (default: --client-cert)'),
  targetClientKey: text('--target-client-key <file>', 'key of that certificate, PEM'),
  targetServerCert: text('--target-server-cert <file|fingerprint>', 'accept only this certificate of that server'),
  mode: text('--mode <mode>', 'which side connects: the target (pull), the source (push) or this program (relay)'),
  containerOnly: toggle('--container-only', 'without snapshots'),
  storage: text('--storage <pool>', 'pool for the root disk'),
};
const live = (without: string) =>
  toggle('--live', 'copy a checkpoint of its processes too', {
    isHidden: true,
    opposite: toggle('--no-live', without),
  });

export const copy = verb('copy', 'copy a container, also to another server', {
  alias: 'cp',
  args: copyArgs,
  flags: {
    ...copyFlags,
    live: live('copy the files of a running container as they are'),
    refresh: toggle('--refresh', 'bring an existing copy up to date'),
  },
});
export type CopyOptions = OptionsOf<typeof copy>;

export const move = verb('move', 'move a container to another server, member of the cluster, pool or name', {
  alias: 'mv',
  args: copyArgs,
  flags: {
    ...copyFlags,
    live: live('without its memory: copy it while it runs, stop it for the last seconds, start it on the target'),
    target: text('--target <member>', 'member of the cluster to move it to; the container is stopped'),
  },
  examples: ['gantry move web1 --target two', 'gantry move web1 --target-host https://other:8443 --no-live'],
});
export type MoveOptions = OptionsOf<typeof move>;

const inContainer = 'in a container, as NAME/path';
const recursive = toggle('-r, --recursive', 'copy directories with everything in them');

export const filePull = verb('file pull', 'copy files out of a container', {
  args: [
    ['<source>', inContainer, 'container'],
    ['<target>', 'local path; - for stdout', 'file'],
  ],
  flags: { ...hostFlags, recursive },
});

export const filePush = verb('file push', 'copy files into a container', {
  args: [
    ['<source>', 'local path; - for stdin', 'file'],
    ['<target>', inContainer, 'container'],
  ],
  flags: {
    ...hostFlags,
    uid: text('--uid <id>', 'owner in the container (default 0)'),
    gid: text('--gid <id>', 'group in the container (default 0)'),
    mode: text('--mode <octal>', 'permissions (default: those of the local file)'),
    createDirs: toggle('-p, --create-dirs', 'create missing directories of the target'),
    recursive,
  },
});

export const fileDelete = verb('file delete', 'delete files in containers', {
  alias: 'rm',
  args: [['<path...>', inContainer, 'container']],
  flags: hostFlags,
});
