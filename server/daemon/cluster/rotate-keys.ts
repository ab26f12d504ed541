// gantryd cluster rotate-ca: asks the running daemon of this host to give the cluster new keys, and waits until all members have them.
import { join } from 'node:path';
import type { Operation } from '../../api/operation.ts';
import { statusCodes } from '../../api/status.ts';
import { askDaemon } from '../host-command.ts';

/** Throws an Error that says why the keys are unchanged, or why some members lack them. */
export async function rotateKeys({ stateDir }: { readonly stateDir: string }): Promise<string> {
  const socketPath = join(stateDir, 'unix.socket');
  const { id } = await askDaemon<Operation>({ socketPath, method: 'POST', path: '/internal/cluster/keys' });
  if (id === undefined) throw new Error('the daemon did not report the operation');
  const ended = await askDaemon<Operation>({ socketPath, path: `/1.0/operations/${id}/wait` });
  if (ended.status_code !== statusCodes.success) throw new Error(ended.err ?? 'it did not end');
  return 'All members that are online use new keys. Those that are offline take them when they are back';
}
