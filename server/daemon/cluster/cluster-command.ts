// gantryd cluster: what an administrator does on the host of a member when its daemon, or the majority of the cluster, is gone.
import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { errorText } from '../../lib/shared/reason.ts';
import { rotateKeys } from './rotate-keys.ts';
import { type ClusterTask, leaveAlone, listMembers, recover, showMember } from './cluster-tasks.ts';

const exitCodes = { ok: 0, failed: 1, usage: 64 } as const;

const clusterUsage = `Usage: gantryd cluster list --state-dir DIR
       gantryd cluster show --state-dir DIR
       gantryd cluster leave --state-dir DIR --yes
       gantryd cluster recover-from-quorum-loss --state-dir DIR --yes
       gantryd cluster rotate-ca --state-dir DIR

list names the members as the records of the cluster have them; without a majority, as the copy on this host has them.
show says what this host knows of its own membership.
leave makes a host single again whose cluster is gone, or has gone on without it. Its records are those from before it joined.
recover-from-quorum-loss makes this host the only keeper of the records when most members that kept them are lost for good.
rotate-ca asks the running daemon to give the cluster a new authority for its etcds, and a new key that encrypts the records.

Options:
  --state-dir DIR   the state directory of gantryd
  --etcd-path FILE  the program etcd; default: that of PATH
  --yes             do it: leave and recover-from-quorum-loss cannot be undone
`;

export async function runClusterCommand(argv: readonly string[]): Promise<number> {
  if (argv.includes('--help')) {
    process.stdout.write(clusterUsage);
    return exitCodes.ok;
  }
  const wish = readWish(argv);
  if (typeof wish === 'string') {
    process.stderr.write(`gantryd cluster: ${wish}\n\n${clusterUsage}`);
    return exitCodes.usage;
  }
  try {
    process.stdout.write(`${await wish.run()}\n`);
    return exitCodes.ok;
  } catch (error) {
    process.stderr.write(`gantryd cluster ${wish.verb}: ${errorText(error)}\n`);
    return exitCodes.failed;
  }
}

const verbs: Readonly<Record<string, { readonly run: (task: ClusterTask) => Promise<string>; readonly asks?: true }>> =
  {
    list: { run: listMembers },
    show: { run: showMember },
    'rotate-ca': { run: rotateKeys },
    leave: { run: leaveAlone, asks: true },
    'recover-from-quorum-loss': { run: recover, asks: true },
  };

function readWish(argv: readonly string[]): { readonly verb: string; readonly run: () => Promise<string> } | string {
  const options = {
    'state-dir': { type: 'string' },
    'etcd-path': { type: 'string' },
    yes: { type: 'boolean', default: false },
  } as const;
  try {
    const { values, positionals } = parseArgs({ args: [...argv], options, strict: true, allowPositionals: true });
    const [verb = '', ...more] = positionals;
    const found = Object.hasOwn(verbs, verb) ? verbs[verb] : undefined;
    if (found === undefined) return `${Object.keys(verbs).join(', ')}: one of these is required`;
    if (more.length > 0) return `${more.join(' ')} is not understood`;
    const dir = values['state-dir'];
    if (dir === undefined) return '--state-dir is required';
    if (found.asks === true && !values.yes) return `${verb} cannot be undone: say --yes`;
    const etcdPath = values['etcd-path'];
    const task: ClusterTask = {
      stateDir: resolve(dir),
      ...(etcdPath === undefined ? {} : { etcdPath: resolve(etcdPath) }),
    };
    return { verb, run: () => found.run(task) };
  } catch (error) {
    return errorText(error);
  }
}
