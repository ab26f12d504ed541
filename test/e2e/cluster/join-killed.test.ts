// The daemon of a host is killed while it joins or leaves a cluster: afterwards it is a member or a single host, and a second attempt
// works.
import { rmSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCluster, type TestCluster, type TestMember, tokenOf } from '../../support/cluster/members.ts';
import { type Bundle, bundleDaemon } from '../../support/daemons/child-process.ts';
import { type Gantryd, startGantryd } from '../../support/daemons/gantryd.ts';
import { freePort } from '../../support/hosts/free-port.ts';
import { isLongRun } from '../../support/left-out.ts';
import { etcdMissing } from '../../support/store/etcd.ts';
import { until } from '../../support/until.ts';

/** Delays from the request to the kill; a join takes about 300 ms. */
const delaysMs = isLongRun ? Array.from({ length: 40 }, (_, n) => n * 20) : [40, 200];

describe.skipIf(etcdMissing() !== undefined)('a host that is killed', { timeout: 600_000 }, () => {
  let bundle: Bundle;
  let cluster: TestCluster;
  let one: TestMember;
  let host: Gantryd;
  let address: string;
  beforeAll(async () => {
    bundle = bundleDaemon();
    cluster = await makeCluster(1);
    one = cluster.members[0] ?? expect.unreachable();
    host = await startGantryd({ gantryd: bundle.entry }, { runtime: 'sim' });
    address = `127.0.0.1:${await freePort()}`;
    await one.call('POST', '/1.0/profiles', { name: 'shared' });
  });
  afterAll(async () => {
    await host.kill();
    rmSync(host.dir, { recursive: true, force: true });
    await cluster.cleanUp();
  });

  const isMember = async (): Promise<boolean> => (await host.call('GET', '/1.0/cluster')).metadata.enabled as boolean;
  const listed = async (): Promise<string | undefined> => {
    const members = (await one.get('/1.0/cluster/members?recursion=1')) as { server_name: string; status: string }[];
    return members.find(({ server_name: name }) => name === 'two')?.status;
  };
  const join = async (): Promise<string> => {
    const asked = await one.call('POST', '/1.0/cluster/members', { server_name: 'two' });
    const body = { server_name: 'two', enabled: true, server_address: address };
    const token = tokenOf(asked.body.metadata.metadata as Record<string, unknown>);
    const answer = await host.call('PUT', '/1.0/cluster', { ...body, cluster_token: token });
    expect([answer.status, answer.bytes.toString()]).toEqual([202, expect.any(String)]);
    const ended = await host.call('GET', `${String(answer.body.operation)}/wait`);
    return `${String(ended.metadata.status)} ${String(ended.metadata.err)}`;
  };
  const again = async (): Promise<void> => {
    await host.kill();
    await host.start();
  };
  /** Whether both sides agree. Removes a listed name if the host is single. */
  const settled = async (): Promise<boolean> => {
    const isIn = await isMember();
    if (isIn) await until(async () => (await listed()) === 'Online');
    else if ((await listed()) !== undefined) {
      await until(async () => (await listed()) !== 'Online');
      await one.ok('DELETE', '/1.0/cluster/members/two?force=1');
    }
    expect((await host.call('GET', '/1.0/profiles')).status).toBe(200);
    return isIn;
  };

  test('while it joins is a member or a single host, and can join then', async () => {
    for (const delay of delaysMs) {
      const joining = join().catch(() => 'cut off');
      await sleep(delay);
      await again();
      await joining;
      if (!(await settled())) expect(await join()).toMatch(/^Success/);
      expect((await host.call('GET', '/1.0/profiles')).metadata).toContain('/1.0/profiles/shared');
      await one.ok('DELETE', '/1.0/cluster/members/two');
      expect(await isMember()).toBe(false);
      // The host has its own copy of shared objects; the next cluster brings others.
      await until(async () => (await listed()) === undefined);
    }
  });

  test('while it leaves is a member or a single host, and can leave then', async () => {
    for (const delay of delaysMs) {
      expect(await join()).toMatch(/^Success/);
      const leaving = one.run('DELETE', '/1.0/cluster/members/two').catch(() => 'cut off');
      await sleep(delay / 2);
      await again();
      await leaving;
      if (await settled()) await one.ok('DELETE', '/1.0/cluster/members/two');
      expect([await isMember(), await listed()]).toEqual([false, undefined]);
    }
  });
});
