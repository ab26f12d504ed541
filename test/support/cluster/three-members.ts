// A cluster of three gantryds as processes, formed over their public API: each on a separate host if this machine has network
// namespaces, with an etcd of one or three members on the same hosts.
import { mkdtempSync, realpathSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Gantryd, startGantryd } from '../daemons/gantryd.ts';
import { remove as removeRemains } from '../hosts/remains.ts';
import { freePort } from '../hosts/free-port.ts';
import { startEtcd, type TestEtcd } from '../store/etcd.ts';
import { type Candidate, done, formCluster } from './form.ts';
import { type ClusterHost, type ClusterHosts, hostsMissing, makeHosts } from './hosts.ts';
import { type JumpingClock, makeJumpingClock } from './jumping-clock.ts';

export interface Member {
  readonly name: string;
  readonly address: string;
  readonly gantryd: Gantryd;
  readonly clock: JumpingClock;
  /** Undefined on a machine without network namespaces. */
  readonly host: ClusterHost | undefined;
}

export interface ThreeMembers {
  readonly members: readonly Member[];
  readonly etcd: TestEtcd;
  readonly hosts: ClusterHosts | undefined;
  /** Empties and ends all members, and removes everything. */
  remove(): Promise<void>;
}

export interface ThreeMembersOptions {
  readonly runtime: 'sim' | 'lxc';
  /** The bundled daemon. */
  readonly gantryd: string;
  readonly etcdMembers?: 1 | 3;
  /** Where state directories are made. */
  readonly parent?: string;
  /** Uses the loopback interface instead of separate hosts. */
  readonly isLocal?: boolean;
  /** Containers have interfaces of their hosts. */
  readonly ownSys?: boolean;
  /** Before the cluster is founded. */
  readonly config?: Readonly<Record<string, string>>;
}

export const clusterPool = 'default';
const memberPort = 8443;

export async function threeMembers(options: ThreeMembersOptions): Promise<ThreeMembers> {
  const { runtime, gantryd, etcdMembers = 3, parent = tmpdir(), isLocal = false, ownSys = false } = options;
  const hosts = isLocal || hostsMissing() !== undefined ? undefined : makeHosts(3, { ownSys });
  const members: Member[] = [];
  const dirs: string[] = [];
  let etcd: TestEtcd | undefined;
  const remove = async (): Promise<void> => {
    hosts?.mend();
    for (const { gantryd: daemon, clock } of members) {
      daemon.signal('SIGCONT');
      if (runtime === 'lxc') await removeRemains(daemon, []).catch((error: unknown) => console.log(String(error)));
      else await daemon.kill();
      clock.remove();
    }
    for (const dir of dirs) rmSync(dir, { recursive: true, force: true });
    await etcd?.stop();
    hosts?.remove();
  };
  try {
    etcd = await startEtcd(
      hosts === undefined ? { members: etcdMembers } : { hosts: hosts.hosts.slice(0, etcdMembers) },
    );
    for (let index = 0; index < 3; index += 1) {
      const name = `member${index + 1}`;
      const host = hosts?.hosts[index];
      const dir = mkdtempSync(join(realpathSync(parent), 'gtcm-'));
      dirs.push(dir);
      const clock = makeJumpingClock();
      const flags = index === 0 ? ['--cluster-store', `etcd://${etcd.endpoints.join(',')}/${name}-${process.pid}`] : [];
      const run = host?.run ?? [];
      const daemon = await startGantryd({ gantryd }, { runtime, dir, flags, run, env: clock.env });
      const address = host === undefined ? `127.0.0.1:${await freePort()}` : `${host.address}:${memberPort}`;
      members.push({ name, address, gantryd: daemon, clock, host });
    }
    const candidates = members.map(asCandidate);
    await formCluster('gantryd', candidates);
    const [first] = candidates as [Candidate];
    await done(first, 'POST', '/1.0/storage-pools', { name: clusterPool, driver: 'dir' });
    const root = { type: 'disk', path: '/', pool: clusterPool };
    await done(first, 'PUT', '/1.0/profiles/default', { config: {}, devices: { root } });
    return { members, etcd, hosts, remove };
  } catch (error) {
    const logs = members.map(({ name, gantryd: { log } }) => `${name}: ${log.slice(-1500)}`).join('\n');
    await remove();
    throw new Error(`the cluster was not formed; logs:\n${logs}`, { cause: error });
  }
}

export const asCandidate = ({ name, address, gantryd }: Member): Candidate => ({
  name,
  address,
  dir: gantryd.dir,
  call: (method, path, body) => gantryd.call(method, path, body),
});
