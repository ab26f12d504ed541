// An apply while a member is killed and comes back: the second run finishes it without duplicates.
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CliRun } from '../../support/cli/io.ts';
import { StackFolder } from '../../support/cli/stack-folder.ts';
import { threeMembers, type Member, type ThreeMembers } from '../../support/cluster/three-members.ts';
import { bundleDaemon, type Bundle } from '../../support/daemons/child-process.ts';
import { etcdMissing } from '../../support/store/etcd.ts';
import { until } from '../../support/until.ts';

const numbers = Array.from({ length: 24 }, (_, number) => number);
const share = numbers.length / 3;

interface Listed {
  readonly name: string;
  readonly location: string;
  readonly status: string;
}

describe.skipIf(etcdMissing() !== undefined)('an apply while a member is killed', () => {
  const folder = new StackFolder();
  let bundle: Bundle;
  let cluster: ThreeMembers;
  let one: Member;
  let three: Member;

  beforeAll(async () => {
    bundle = bundleDaemon();
    cluster = await threeMembers({ runtime: 'sim', gantryd: bundle.entry, etcdMembers: 1, isLocal: true });
    [one, , three] = cluster.members as [Member, Member, Member];
  });
  afterAll(async () => {
    await cluster.remove();
    folder.remove();
  });

  const memberOf = (number: number): string => cluster.members[number % 3]?.name ?? '';
  const pool = 'kind: storage_pool\nname: fast\ndriver: dir\n';
  const container = (number: number): string =>
    `kind: container\nname: c${number}\ntarget: ${memberOf(number)}\nsource: { type: none }\ndevices: { root: { type: disk, path: /, pool: fast } }\nfiles: [{ path: /n, content: "${number}" }]\n`;
  const run = (verb: string, ...more: readonly string[]): Promise<CliRun> =>
    folder.gantry(one.gantryd.socketPath, verb, [pool, ...numbers.map(container)], '--set', 'many', ...more);
  const listed = async (): Promise<readonly Listed[]> =>
    (await one.gantryd.call('GET', '/1.0/containers?recursion=1')).metadata as Listed[];
  const on = async (member: Member): Promise<readonly Listed[]> =>
    (await listed()).filter(({ location }) => location === member.name);
  const rootsOf = ({ gantryd }: Member): readonly string[] => {
    const path = join(gantryd.dir, 'storage-pools/fast/containers');
    return existsSync(path) ? readdirSync(path).sort() : [];
  };

  test('creates the containers of the other members, a second run finishes, and the next plan is empty', async () => {
    const first = run('apply', '--auto-approve', '--parallelism', '6');
    // The member has some of its containers, but not all.
    await until(async () => (await on(three)).length >= 4);
    await three.gantryd.kill();
    const broken = await first;
    const said = broken.stdout + broken.stderr;
    expect(broken.code, said).not.toBe(0);
    expect((await on(three)).length, said).toBeLessThan(share);
    expect(said).toContain(three.name);
    const others = (await listed()).filter(({ location }) => location !== three.name);
    expect([others.length, others.filter(({ status }) => status === 'Running').length], said).toEqual([
      share * 2,
      share * 2,
    ]);
    await three.gantryd.start();
    await until(async () => {
      const { metadata } = await one.gantryd.call('GET', '/1.0/cluster/members?recursion=1');
      return (metadata as { status: string }[]).every(({ status }) => status === 'Online');
    });
    const second = await run('apply', '--auto-approve');
    expect(second.code, second.stdout + second.stderr).toBe(0);
    const plan = await run('plan', '--detailed-exitcode');
    expect(plan.code, plan.stdout + plan.stderr).toBe(0);
    const all = await listed();
    expect(all.map(({ name }) => name).sort()).toEqual(numbers.map((number) => `c${number}`).sort());
    for (const number of numbers) {
      const found = all.find(({ name }) => name === `c${number}`);
      expect(found).toMatchObject({ location: memberOf(number), status: 'Running' });
    }
    // Each member has only the files of its own containers, without leftovers of the failed run.
    for (const member of cluster.members) {
      const own = numbers.filter((number) => memberOf(number) === member.name).map((number) => `c${number}`);
      expect(rootsOf(member).map((path) => path.replace(/^.*_/, ''))).toEqual(own.sort());
    }
    const file = await one.gantryd.call('GET', '/1.0/containers/c23/files?path=/n');
    expect(file.bytes.toString()).toBe('23');
  }, 240_000);
});
