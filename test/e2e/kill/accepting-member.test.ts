// The member that accepts a joining host is killed: afterwards the host is a member or a single host, and can join.
import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { readMembership } from '../../../server/membership/membership.ts';
import { type Candidate, done, found, joinToken } from '../../support/cluster/form.ts';
import { type Bundle, bundleDaemon } from '../../support/daemons/child-process.ts';
import { type Gantryd, startGantryd } from '../../support/daemons/gantryd.ts';
import { freePort } from '../../support/hosts/free-port.ts';
import { isLongRun } from '../../support/left-out.ts';
import { etcdMissing, startEtcd, type TestEtcd } from '../../support/store/etcd.ts';
import { until } from '../../support/until.ts';

/** Delays from the request to the kill. */
const delaysMs = isLongRun ? Array.from({ length: 40 }, (_, n) => n * 15) : [15, 60, 120, 220];

describe.skipIf(etcdMissing() !== undefined)('a host that joins through a member', { timeout: 600_000 }, () => {
  let bundle: Bundle;
  let etcd: TestEtcd;
  let member: Gantryd;
  let host: Gantryd;
  let one: Candidate;
  let two: Candidate;
  beforeAll(async () => {
    bundle = bundleDaemon();
    etcd = await startEtcd();
    const flags = ['--cluster-store', `etcd://${etcd.endpoints.join(',')}/accepting`];
    member = await startGantryd({ gantryd: bundle.entry }, { runtime: 'sim', flags });
    host = await startGantryd({ gantryd: bundle.entry }, { runtime: 'sim' });
    one = await candidate('one', member);
    two = await candidate('two', host);
    await found(one);
    await done(one, 'POST', '/1.0/profiles', { name: 'shared' });
  });
  afterAll(async () => {
    for (const daemon of [host, member]) {
      await daemon?.kill();
      if (daemon !== undefined) rmSync(daemon.dir, { recursive: true, force: true });
    }
    await etcd?.stop();
  });

  const candidate = async (name: string, daemon: Gantryd): Promise<Candidate> => ({
    name,
    address: `127.0.0.1:${await freePort()}`,
    dir: daemon.dir,
    call: (method, path, body) => daemon.call(method, path, body),
  });
  const isMember = async (): Promise<boolean> => (await host.get('/1.0/cluster')).enabled as boolean;
  const listed = async (): Promise<string | undefined> => {
    const members = (await member.get('/1.0/cluster/members?recursion=1')) as { server_name: string; status: string }[];
    return members.find(({ server_name: name }) => name === 'two')?.status;
  };
  const join = async (token: string): Promise<void> => {
    const body = { server_name: 'two', enabled: true, server_address: two.address, cluster_token: token };
    await done(two, 'PUT', '/1.0/cluster', body);
  };

  test('is a member or not when the accepting member is killed, and a second attempt joins', async () => {
    const outcomes = new Set<string>();
    for (const delay of delaysMs) {
      const token = await joinToken(one, 'two');
      const joining = join(token).then(
        () => 'joined',
        (error: unknown) => `refused: ${String(error)}`,
      );
      await sleep(delay);
      await member.kill();
      await member.start();
      const outcome = await joining;
      const isIn = await isMember();
      outcomes.add(isIn ? 'in' : 'out');
      // The state of the host matches its answer and its files, also after its own restart.
      expect([delay, outcome]).toEqual([delay, isIn ? 'joined' : expect.stringContaining('refused')]);
      await host.stop();
      await host.start();
      expect(await isMember()).toBe(isIn);
      expect((await readMembership(host.dir)) !== undefined).toBe(isIn);
      if (isIn) await until(async () => (await listed()) === 'Online', 60_000);
      else {
        // The member may have been listed before the kill, without a host behind it.
        if ((await listed()) !== undefined) await done(one, 'DELETE', '/1.0/cluster/members/two?force=1');
        expect(await listed()).toBeUndefined();
        expect(await host.get('/1.0/profiles')).not.toContain('/1.0/profiles/shared');
        await join(await joinToken(one, 'two'));
        await until(async () => (await listed()) === 'Online', 60_000);
      }
      expect(await host.get('/1.0/profiles')).toContain('/1.0/profiles/shared');
      await done(one, 'DELETE', '/1.0/cluster/members/two');
      expect([await isMember(), await listed()]).toEqual([false, undefined]);
      await done(two, 'DELETE', '/1.0/profiles/shared').catch(() => {});
    }
    console.log(`outcomes: ${[...outcomes].join(', ')}`);
  });

  test('gets in with no token that the member had made before it was killed, which no list shows any more', async () => {
    const token = await joinToken(one, 'two');
    await member.kill();
    await member.start();
    await expect(join(token)).rejects.toThrow('it was used, has expired or was withdrawn');
    await join(await joinToken(one, 'two'));
  });
});
