// A cluster of daemons in this process, with simulated hosts and a private etcd: formed and joined through the API.
import { freePort, freePorts } from '../hosts/free-port.ts';
import { startEtcd, type TestEtcd } from '../store/etcd.ts';
import { makeDaemon, type TestDaemon, type TestDaemonOptions } from '../daemons/daemon.ts';
import { until } from '../until.ts';

export interface TestMember extends TestDaemon {
  readonly name: string;
  readonly address: string;
}

export interface TestCluster {
  readonly etcd: TestEtcd;
  readonly members: readonly TestMember[];
  /** Another host that joins. */
  add(name: string): Promise<TestMember>;
  cleanUp(): Promise<void>;
}

/** The token that a client builds from the operation. */
export function tokenOf(metadata: Readonly<Record<string, unknown>>): string {
  const { serverName, fingerprint, addresses, secret, expiresAt } = metadata;
  const token = { server_name: serverName, fingerprint, addresses, secret, expires_at: expiresAt };
  return Buffer.from(JSON.stringify(token)).toString('base64');
}

/** Members are named m1, m2 and so on. `own`: they run etcd themselves. `optionsOf`: more options of a member. */
export async function makeCluster(
  count: number,
  etcdMembers: number | 'own' = 1,
  optionsOf: (name: string) => TestDaemonOptions = () => ({}),
): Promise<TestCluster> {
  const etcd = etcdMembers === 'own' ? undefined : await startEtcd({ members: etcdMembers });
  const members: TestMember[] = [];
  const cleanUp = async (): Promise<void> => {
    const end = (member: TestMember): Promise<void> => member.cleanUp().catch(() => {});
    // One after the other, the last one would wait for etcds of those that have ended.
    if (etcd === undefined) await Promise.all(members.map(end));
    else for (const member of members) await end(member);
    await etcd?.stop();
  };
  const host = async (name: string, isFirst: boolean): Promise<TestMember> => {
    const address = `127.0.0.1:${await (etcd === undefined ? freePorts(3) : freePort())}`;
    const store = etcd && { clusterStore: { address: `etcd://${etcd.endpoints.join(',')}/east` } };
    const daemon = await makeDaemon({ ...optionsOf(name), ...(isFirst ? store : {}) });
    return Object.assign(daemon, { name, address });
  };
  const add = async (name: string): Promise<TestMember> => {
    const [first] = members;
    const member = await host(name, first === undefined);
    members.push(member);
    const body = { server_name: name, enabled: true, server_address: member.address };
    if (first === undefined) {
      await member.ok('PUT', '/1.0/cluster', body);
      return member;
    }
    const asked = await first.call('POST', '/1.0/cluster/members', { server_name: name });
    const token = tokenOf(asked.body.metadata.metadata as Record<string, unknown>);
    await member.ok('PUT', '/1.0/cluster', { ...body, cluster_token: token });
    return member;
  };
  try {
    for (let number = 1; number <= count; number += 1) await add(`m${number}`);
    for (const member of members)
      await until(async () => ((await member.get('/1.0/cluster/members')) as unknown[]).length === count);
  } catch (error) {
    await cleanUp();
    throw error;
  }
  return {
    get etcd() {
      if (etcd === undefined) throw new Error('the members run the etcds themselves');
      return etcd;
    },
    members,
    add,
    cleanUp,
  };
}
