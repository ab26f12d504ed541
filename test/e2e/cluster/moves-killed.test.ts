// kill -9 of a member during a move or an evacuation: afterwards each container is complete on one member.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { threeMembers, type Member, type ThreeMembers } from '../../support/cluster/three-members.ts';
import { bundleDaemon, type Bundle } from '../../support/daemons/child-process.ts';
import { isLongRun } from '../../support/left-out.ts';
import { etcdMissing } from '../../support/store/etcd.ts';
import { until } from '../../support/until.ts';

const kills = isLongRun ? 60 : 2;

describe.skipIf(etcdMissing() !== undefined)('kill -9 while containers move', () => {
  let bundle: Bundle;
  let cluster: ThreeMembers;
  let one: Member;
  let two: Member;
  let three: Member;

  beforeAll(async () => {
    bundle = bundleDaemon();
    cluster = await threeMembers({ runtime: 'sim', gantryd: bundle.entry, etcdMembers: 1, isLocal: true });
    [one, two, three] = cluster.members as [Member, Member, Member];
  });
  afterAll(() => cluster.remove());

  const ok = async ({ gantryd }: Member, method: string, path: string, body?: object | Buffer): Promise<void> => {
    const answer = await gantryd.call(method, path, body);
    expect([path, answer.status < 300, answer.status < 300 ? '' : answer.bytes.toString()]).toEqual([path, true, '']);
    if (answer.status !== 202) return;
    const ended = await gantryd.call('GET', `${answer.body.operation as string}/wait`);
    expect([path, ended.metadata.err]).toEqual([path, '']);
  };
  const get = async ({ gantryd }: Member, path: string) => (await gantryd.call('GET', path)).metadata;
  const areOnline = async (by: Member): Promise<boolean> =>
    ((await get(by, '/1.0/cluster/members?recursion=1')) as { status: string }[]).every(
      ({ status }) => status !== 'Offline',
    );
  const everybody = (): Promise<void> =>
    until(async () => (await Promise.all(cluster.members.map(areOnline))).every(Boolean));
  const volumes = ({ gantryd }: Member): string[] => {
    const pool = join(gantryd.dir, 'storage-pools/default');
    return ['containers', 'containers-snapshots'].flatMap((kind) =>
      existsSync(join(pool, kind)) ? readdirSync(join(pool, kind)).map((name) => `${kind}/${name}`) : [],
    );
  };
  const whereIs = async (name: string): Promise<Member> => {
    const seen = await Promise.all(cluster.members.map((member) => get(member, `/1.0/containers/${name}`)));
    const locations = new Set(seen.map(({ location }: { location: string }) => location));
    expect([name, locations.size]).toEqual([name, 1]);
    return cluster.members.find((member) => locations.has(member.name))!;
  };

  test(`source, target or the contacted member: ${kills} times`, { timeout: kills * 30_000 }, async () => {
    await ok(one, 'POST', '/1.0/containers?target=member1', { name: 'c', source: { type: 'none' } });
    await ok(one, 'POST', '/1.0/containers/c/files?path=/mark', Buffer.from('marked'));
    await ok(one, 'POST', '/1.0/containers/c/snapshots', { name: 's' });
    let moved = 0;
    for (let round = 0; round < kills; round += 1) {
      const from = await whereIs('c');
      const others = cluster.members.filter((member) => member !== from);
      const [to, by] = (round % 2 === 0 ? others : others.toReversed()) as [Member, Member];
      const victim = [from, to, by][round % 3]!;
      const asked = by.gantryd
        .call('POST', `/1.0/containers/c?target=${to.name}`, { name: 'c', migration: true })
        .catch(() => undefined);
      await new Promise((resolve) => setTimeout(resolve, 10 + ((round * 37) % 160)));
      await victim.gantryd.kill();
      await asked;
      await victim.gantryd.start();
      await everybody();
      // A surviving member finishes its part when it has noticed the failure.
      await until(async () => {
        const at = await whereIs('c');
        return cluster.members.every((member) => volumes(member).length === (member === at ? 2 : 0));
      });
      const at = await whereIs('c');
      if (at === to) moved += 1;
      for (const member of cluster.members) {
        const listed = (await get(member, '/1.0/containers?recursion=1')) as { name: string; location: string }[];
        expect(listed.map(({ name, location }) => [name, location])).toEqual([['c', at.name]]);
      }
      expect((await two.gantryd.call('GET', '/1.0/containers/c/files?path=/mark')).bytes.toString()).toBe('marked');
      expect(await get(three, '/1.0/containers/c/snapshots')).toEqual(['/1.0/containers/c/snapshots/s']);
    }
    console.log(`moved in spite of the kill: ${moved} of ${kills}`);
    // The container is neither locked nor half moved.
    const from = await whereIs('c');
    const to = cluster.members.find((member) => member !== from)!;
    await ok(one, 'POST', `/1.0/containers/c?target=${to.name}`, { name: 'c', migration: true });
    await ok(one, 'PUT', '/1.0/containers/c', { restore: 's' });
    await ok(one, 'DELETE', '/1.0/containers/c');
    expect(cluster.members.flatMap(volumes)).toEqual([]);
  });

  test('the evacuated member: a second request finishes the evacuation, and all running containers run again', async () => {
    const names = ['e1', 'e2', 'e3'];
    for (const name of names) {
      await ok(one, 'POST', '/1.0/containers?target=member2', { name, source: { type: 'none' } });
      await ok(one, 'PUT', `/1.0/containers/${name}/state`, { action: 'start' });
    }
    const asked = await one.gantryd.call('POST', '/1.0/cluster/members/member2/state', { action: 'evacuate' });
    expect(asked.status).toBe(202);
    await until(async () => (await get(one, '/1.0/cluster/members/member2')).status === 'Evacuated');
    await two.gantryd.kill();
    await two.gantryd.start();
    await everybody();
    expect((await get(one, '/1.0/cluster/members/member2')).status).toBe('Evacuated');
    await ok(one, 'POST', '/1.0/cluster/members/member2/state', { action: 'evacuate' });
    for (const name of names) {
      expect((await whereIs(name)).name).not.toBe('member2');
      expect([name, (await get(one, `/1.0/containers/${name}`)).status]).toEqual([name, 'Running']);
    }
    await ok(one, 'POST', '/1.0/cluster/members/member2/state', { action: 'restore' });
    for (const name of names) {
      expect((await whereIs(name)).name).toBe('member2');
      expect([name, (await get(one, `/1.0/containers/${name}`)).status]).toEqual([name, 'Running']);
    }
  });
});
