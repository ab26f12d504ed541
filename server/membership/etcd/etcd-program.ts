// Finds the program etcd on the host and asks for its version.
import { delimiter, join } from 'node:path';
import { exec } from '../../lib/exec.ts';
import { isAtLeast } from './etcd-flags.ts';
import { isProgram, programIn } from '../../lib/program-env.ts';

export interface EtcdProgram {
  readonly path: string;
  readonly version: string;
}

/** Throws an Error that says what to install. `path`: instead of the one in PATH. */
export async function findEtcd(path?: string): Promise<EtcdProgram> {
  const found = path ?? programIn(pathDirs(), 'etcd');
  if (found === undefined)
    throw new Error(
      'this host has no program etcd, which a cluster keeps its records in: install it (apt-get install etcd-server), or name it with --etcd-path',
    );
  const { stdout } = await exec([found, '--version'], { timeoutMs: 20_000 });
  const version = /etcd Version: (\d+\.\d+\.\d+)/.exec(stdout)?.[1];
  if (version === undefined) throw new Error(`${found} is not etcd: it does not report its version`);
  if (!isAtLeast(version, 3, 4)) throw new Error(`${found} is etcd ${version}, which is too old: 3.4 is needed`);
  return { path: found, version };
}

/** The tool that makes an etcd of a database file: in `dir` (beside etcd) or in PATH. Older releases have it in etcdctl. */
export function findTool(dir: string | undefined): string | undefined {
  const dirs = [...(dir === undefined ? [] : [dir]), ...pathDirs()];
  return ['etcdutl', 'etcdctl'].flatMap((name) => dirs.map((each) => join(each, name))).find(isProgram);
}

const pathDirs = (): readonly string[] => (process.env['PATH'] ?? '').split(delimiter).filter((dir) => dir !== '');
