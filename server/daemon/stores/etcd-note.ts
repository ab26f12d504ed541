// DIR/cluster/etcd.json: the cluster's etcd that this host runs, so that every start continues the same one.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { hasCode } from '../../lib/shared/error-code.ts';
import type { EtcdStart } from '../../membership/etcd/etcd-flags.ts';
import { clusterDir } from '../../membership/membership.ts';

/** What this host stores about its etcd. */
export type EtcdNote = Pick<EtcdStart, 'name' | 'clientAddress' | 'peerAddress' | 'first'>;

/** The name of the records in the etcds of a cluster. */
export const storeName = 'gantry';

export const etcdNotePath = (stateDir: string): string => join(clusterDir(stateDir), 'etcd.json');

/** Undefined: this host runs none. Throws an Error that names the file if it is damaged. */
export async function readEtcdNote(stateDir: string): Promise<EtcdNote | undefined> {
  const path = etcdNotePath(stateDir);
  try {
    return JSON.parse(await readFile(path, 'utf8')) as EtcdNote;
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw new Error(`Reading ${path} failed`, { cause: error });
  }
}

export function etcdStartOf(stateDir: string, noted: EtcdNote): EtcdStart {
  const tls = join(clusterDir(stateDir), 'tls');
  return {
    ...noted,
    dir: join(clusterDir(stateDir), 'etcd'),
    tls: { ca: join(tls, 'ca.crt'), cert: join(tls, 'member.crt'), key: join(tls, 'member.key') },
  };
}
