// gantryd cluster: repairs on a member's host when its daemon, or the majority of the cluster, is gone.
import { resolve, join } from 'node:path';
import { parseArgs } from 'node:util';
import { runHostCommand, askDaemon, type HostTask } from '../host-command.ts';
import { leaveAlone, listMembers, recover, showMember, type ClusterTask } from './cluster-tasks.ts';
import type { Operation } from '../../api/operation.ts';
import { statusCodes } from '../../api/status.ts';

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

export const runClusterCommand = (argv: readonly string[]): Promise<number> =>
  runHostCommand({ name: 'cluster', usage: clusterUsage, argv }, readTask);

const verbs: Readonly<Record<string, { readonly run: (task: ClusterTask) => Promise<string>; readonly asks?: true }>> =
  {
    list: { run: listMembers },
    show: { run: showMember },
    'rotate-ca': { run: rotateKeys },
    leave: { run: leaveAlone, asks: true },
    'recover-from-quorum-loss': { run: recover, asks: true },
  };

function readTask(args: string[]): HostTask | string {
  const options = {
    'state-dir': { type: 'string' },
    'etcd-path': { type: 'string' },
    yes: { type: 'boolean', default: false },
  } as const;
  const { values, positionals } = parseArgs({ args, options, strict: true, allowPositionals: true });
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
  return { verb, run: async () => ({ text: await found.run(task) }) };
}

/** Throws an Error that says why the keys are unchanged, or why some members lack them. */
async function rotateKeys({ stateDir }: { readonly stateDir: string }): Promise<string> {
  const socketPath = join(stateDir, 'unix.socket');
  const { id } = await askDaemon<Operation>({ socketPath, method: 'POST', path: '/internal/cluster/keys' });
  if (id === undefined) throw new Error('the daemon did not report the operation');
  const ended = await askDaemon<Operation>({ socketPath, path: `/1.0/operations/${id}/wait` });
  if (ended.status_code !== statusCodes.success) throw new Error(ended.err ?? 'it did not end');
  return 'All members that are online use new keys. Those that are offline take them when they are back';
}
