// A real container on shared storage whose member is frozen, killed or cut off: it continues elsewhere and never runs twice at once.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { hostsMissing } from '../../support/cluster/hosts.ts';
import {
  healedContainer,
  type HealingWorld,
  openHealingWorld,
  overlaps,
  runsOf,
} from '../../support/cluster/healing-world.ts';
import type { Member } from '../../support/cluster/three-members.ts';
import { buildPrograms, type Programs } from '../../support/cli/programs.ts';
import { realRuntimeMissing } from '../../support/daemons/daemon.ts';
import { isLongRun } from '../../support/left-out.ts';
import { etcdMissing } from '../../support/store/etcd.ts';
import { until } from '../../support/until.ts';

const missing = etcdMissing() ?? hostsMissing() ?? (await realRuntimeMissing());

test('the checker distinguishes overlapping starts from successive ones', () => {
  const runs = runsOf('a 1.00\na 2.00\nb 2.50\nb 3.00\na 3.0');
  expect(runs).toEqual([
    { id: 'a', from: 1, to: 2 },
    { id: 'b', from: 2.5, to: 3 },
  ]);
  expect(overlaps(runs)).toEqual([]);
  expect(overlaps(runsOf('a 1\nb 2\na 3\n'))).toEqual(['b ran from 2 on, and a until 3']);
});

describe.skipIf(missing !== undefined)('a real container of a lost member', () => {
  let programs: Programs;
  let world: HealingWorld;
  beforeAll(async () => {
    programs = buildPrograms();
    world = await openHealingWorld(programs.gantryd);
  });
  afterAll(() => world?.remove());

  /** Expects that the container continues on another member, then brings the lost member back. */
  async function heals(lose: (member: Member) => Promise<void>, mend: (member: Member) => Promise<void>) {
    const lost = await world.holder();
    const before = world.runs().length;
    await lose(lost);
    await until(() => world.runs().length > before, 90_000);
    await mend(lost);
    await until(
      async () => isOnline(await lost.gantryd.get('/1.0/cluster/members?recursion=1').catch(() => [])),
      60_000,
    );
    const now = await world.holder();
    expect(now.name).not.toBe(lost.name);
    // The container runs only there.
    const [latest] = world.runs().slice(-1);
    await until(() => (world.runs().at(-1)?.to ?? 0) > (latest?.to ?? 0) + 2);
    expect(world.runs()).toHaveLength(before + 1);
    expect(overlaps(world.runs())).toEqual([]);
    expect((await now.gantryd.get(`/1.0/containers/${healedContainer}`)).status).toBe('Running');
  }
  const isOnline = (members: readonly { readonly status: string }[]): boolean =>
    members.length === 3 && members.every(({ status }) => status === 'Online');

  test('continues when its daemon is frozen, after the guard has ended it', async () => {
    await heals(
      async ({ gantryd }) => gantryd.signal('SIGSTOP'),
      async ({ gantryd }) => gantryd.signal('SIGCONT'),
    );
  });

  test.skipIf(!isLongRun)(
    'continues when its daemon is killed and comes back much later',
    async () => {
      await heals(
        ({ gantryd }) => gantryd.kill(),
        async ({ gantryd }) => void (await gantryd.start()),
      );
    },
    180_000,
  );

  test.skipIf(!isLongRun)(
    'continues when its member is cut off from the others and the store',
    async () => {
      await heals(
        async ({ host }) => {
          const others = world.members.flatMap((each) =>
            each.host === undefined || each.host === host ? [] : [each.host],
          );
          if (host !== undefined) world.hosts?.part([host], others);
        },
        async () => world.hosts?.mend(),
      );
    },
    180_000,
  );
});
