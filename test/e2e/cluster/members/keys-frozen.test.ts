// A member is frozen during a whole rotation of the cluster keys: the others complete it, and the member gets the keys when it thaws.
import { execFile } from 'node:child_process';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type StoredKeys, keyFilePath } from '../../../../server/membership/keys/key-file.ts';
import { readMembership } from '../../../../server/membership/membership.ts';
import { clientOf } from '../../../../server/daemon/stores/etcd-place.ts';
import { type Candidate, done, formCluster } from '../../../support/cluster/form.ts';
import { type Bundle, bundleDaemon } from '../../../support/daemons/child-process.ts';
import { type Gantryd, startGantryd } from '../../../support/daemons/gantryd.ts';
import { freePorts } from '../../../support/hosts/free-port.ts';
import { isLongRun } from '../../../support/left-out.ts';
import { etcdMissing } from '../../../support/store/etcd.ts';
import { until } from '../../../support/until.ts';

const patienceMs = 120_000;
/** The member that is frozen in each round; its etcd is the leader. */
const rounds = isLongRun ? [2, 1, 0, 2, 1, 0, 2, 1, 0] : [2, 0];

interface FrozenMember extends Candidate {
  readonly gantryd: Gantryd;
}

describe.skipIf(etcdMissing() !== undefined)(
  'a member that is frozen while the keys change',
  { timeout: 900_000 },
  () => {
    let bundle: Bundle;
    const members: FrozenMember[] = [];

    beforeAll(async () => {
      bundle = bundleDaemon();
      for (const name of ['m1', 'm2', 'm3']) {
        const gantryd = await startGantryd({ gantryd: bundle.entry }, { runtime: 'sim' });
        const call: Candidate['call'] = (method, path, body) => gantryd.call(method, path, body);
        members.push({ name, address: `127.0.0.1:${await freePorts(3)}`, dir: gantryd.dir, call, gantryd });
      }
      await formCluster('gantryd', members);
      for (const { dir } of members)
        await until(async () => ((await readMembership(dir))?.store.address ?? '').split(',').length === 3, patienceMs);
    }, 300_000);
    afterAll(async () => {
      for (const { gantryd } of members) {
        gantryd.signal('SIGCONT');
        await gantryd.kill();
        rmSync(gantryd.dir, { recursive: true, force: true });
      }
    });

    const at = (index: number): FrozenMember => members[index] ?? expect.unreachable();
    const stateOf = ({ dir }: FrozenMember): StoredKeys['state'] =>
      (JSON.parse(readFileSync(keyFilePath(dir), 'utf8')) as StoredKeys).state;
    const hasDone = (member: FrozenMember, generation: number): boolean => {
      const state = stateOf(member);
      return state.generation === generation && state.phase === 'done';
    };
    /** Runs etcdctl with the certificates of that member. */
    const etcdctl = async ({ dir }: FrozenMember, endpoint: string, ...args: readonly string[]): Promise<string> => {
      const tls = join(dir, 'cluster', 'tls');
      const flags = [`--cacert=${tls}/ca.crt`, `--cert=${tls}/member.crt`, `--key=${tls}/member.key`];
      const argv = [`--endpoints=https://${endpoint}`, ...flags, '--command-timeout=10s', ...args];
      const env = { ...process.env, ETCDCTL_API: '3' };
      const { stdout } = await promisify(execFile)('etcdctl', argv, { env, timeout: 60_000 });
      return stdout;
    };
    const lostLeases = ({ log }: Gantryd): number => log.split('The lease of this member has ended').length - 1;
    const makeLeader = async (member: FrozenMember): Promise<void> => {
      await until(async () => {
        const endpoints = members.map(({ address }) => clientOf(address));
        const told = await etcdctl(member, endpoints.join(','), 'endpoint', 'status', '--write-out=json');
        const statuses = JSON.parse(told.replaceAll(/("(?:member_id|leader)":)(\d+)/g, '$1"$2"')) as {
          readonly Endpoint: string;
          readonly Status: { readonly header: { readonly member_id: string }; readonly leader: string };
        }[];
        const its = statuses.find(({ Endpoint }) => Endpoint.endsWith(clientOf(member.address)))?.Status;
        const leader = statuses.find(({ Status }) => Status.header.member_id === Status.leader);
        if (its === undefined || leader === undefined) return false;
        if (its.leader === its.header.member_id) return true;
        const id = BigInt(its.header.member_id).toString(16);
        await etcdctl(member, leader.Endpoint.replace('https://', ''), 'move-leader', id);
        return false;
      }, patienceMs);
    };
    const write = async (member: FrozenMember, name: string): Promise<void> =>
      await until(
        async () => [200, 409].includes((await member.call('POST', '/1.0/profiles', { name })).status),
        patienceMs,
      );

    test('delays no other member although its etcd leads, costs none its lease, and has the new keys when it thaws', async () => {
      for (const [round, index] of rounds.entries()) {
        const frozen = at(index);
        const others = members.filter((member) => member !== frozen);
        const asked = others[0] ?? expect.unreachable();
        await until(async () => {
          const all = (await asked.gantryd.get('/1.0/cluster/members?recursion=1')) as { readonly status: string }[];
          return all.every(({ status }) => status === 'Online');
        }, patienceMs);
        await makeLeader(frozen);
        const generation = stateOf(asked).generation + 1;
        const before = new Map(others.map(({ name, gantryd }) => [name, lostLeases(gantryd)]));
        frozen.gantryd.signal('SIGSTOP');
        await done(asked, 'POST', '/internal/cluster/keys');
        for (const other of others) await until(() => Promise.resolve(hasDone(other, generation)), patienceMs);
        expect(hasDone(frozen, generation)).toBe(false);
        for (const { name, gantryd } of others) expect([name, lostLeases(gantryd)]).toEqual([name, before.get(name)]);
        await write(asked, `frozen-${round}`);
        frozen.gantryd.signal('SIGCONT');
        await until(() => Promise.resolve(hasDone(frozen, generation)), patienceMs);
        await write(frozen, `thawed-${round}`);
        for (const member of members)
          await until(
            async () => (await member.call('GET', `/1.0/profiles/thawed-${round}`)).status === 200,
            patienceMs,
          );
      }
    });
  },
);
