// etcds join, die, come back and leave under writers: no acknowledged write is lost.
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EtcdMembership } from '../../../../server/membership/etcd/membership.ts';
import { openEtcdStore } from '../../../../server/store/etcd/etcd.ts';
import { type Rev, type Store, StoreError } from '../../../../server/store/store.ts';
import { etcdMissing } from '../../../support/store/etcd.ts';
import { type EtcdNest, openEtcdNest, type SupervisedEtcd } from '../../../support/store/supervised-etcd.ts';
import { put } from '../../../support/store/watching.ts';
import { until } from '../../../support/until.ts';

const missing = etcdMissing();

describe.skipIf(missing !== undefined)('the etcds of a cluster', () => {
  let nest: EtcdNest;
  let etcds: SupervisedEtcd[];
  let membership: EtcdMembership;
  let store: Store;
  let writing: Writing;
  const addressOf = (index: number): string => etcds[index]?.start.clientAddress ?? '';
  const processOf = (index: number) => {
    const found = etcds[index];
    if (found === undefined) throw new Error(`no etcd ${index}`);
    return found;
  };

  beforeAll(async () => {
    nest = await openEtcdNest();
    etcds = [await nest.member('m0', { kind: 'new', token: 'test' })];
    for (const name of ['m1', 'm2', 'm3']) etcds.push(await nest.member(name, { kind: 'join', peers: [] }));
    const { process, start } = processOf(0);
    await process.start(start);
    const endpoints = etcds.map((each) => each.start.clientAddress);
    const options = { endpoints, tls: nest.tls, attemptMs: 1_000 };
    membership = new EtcdMembership(options);
    store = await openEtcdStore({ ...options, name: 'x', writer: 'test' });
    writing = startWriting(store);
  });
  afterAll(async () => {
    await writing?.stop().catch(() => {});
    await store?.close();
    membership?.close();
    await nest?.close();
  });

  const join = async (index: number): Promise<string> => {
    const { process, start } = processOf(index);
    const { added, members } = await membership.addLearner(start.peerAddress);
    expect(added).toMatchObject({ isLearner: true, peerAddress: start.peerAddress, name: '' });
    // Idempotent, for an answer may be lost.
    expect((await membership.addLearner(start.peerAddress)).added.id).toBe(added.id);
    const peers = members.map(({ name, peerAddress }) => {
      return { name: peerAddress === start.peerAddress ? start.name : name, peerAddress };
    });
    await process.start({ ...start, first: { kind: 'join', peers } });
    return added.id;
  };
  const idOf = async (index: number): Promise<string> =>
    (await membership.list()).find(({ name }) => name === `m${index}`)?.id ?? '';
  const leaderIndex = async (): Promise<number> => {
    for (const [index, { process }] of etcds.entries()) {
      if (process.status.pid === undefined) continue;
      const status = await membership.statusOf(addressOf(index)).catch(() => undefined);
      if (status !== undefined && status.id === status.leader) return index;
    }
    return -1;
  };

  test('grow from one to three during writes', async () => {
    for (const index of [1, 2]) {
      const id = await join(index);
      await membership.promote(id);
      await membership.promote(id);
      await writing.goesOn();
    }
    const members = await membership.list();
    expect(members.map(({ name, isLearner }) => `${name} ${isLearner}`).sort()).toEqual([
      'm0 false',
      'm1 false',
      'm2 false',
    ]);
    expect(await writing.wrong()).toEqual([]);
  });

  test('a learner that has not caught up gets no vote', async () => {
    const { start } = processOf(3);
    const { added } = await membership.addLearner(start.peerAddress);
    await expect(membership.promote(added.id, { timeoutMs: 600 })).rejects.toThrow('has not caught up in time');
    await membership.remove(added.id);
    await membership.remove(added.id);
    await expect(membership.promote(added.id)).rejects.toThrow('cannot give the new etcd a vote: member not found');
  });

  test('the leader hands over before its stop', async () => {
    const before = await leaderIndex();
    expect(await membership.moveLeaderAway(addressOf(before))).toBe(true);
    await until(async () => ![before, -1].includes(await leaderIndex()));
    expect(await membership.moveLeaderAway(addressOf(before))).toBe(false);
    await writing.goesOn();
  });

  test('a killed etcd comes back with everything', async () => {
    const leader = await leaderIndex();
    const { process: etcd } = processOf(leader);
    const pid = etcd.status.pid ?? 0;
    process.kill(pid, 'SIGKILL');
    await writing.goesOn();
    await until(() => etcd.status.state === 'running' && etcd.status.pid !== pid);
    await until(async () => {
      const [other, own] = await Promise.all(
        [(leader + 1) % 3, leader].map((index) => membership.statusOf(addressOf(index)).catch(() => undefined)),
      );
      return other !== undefined && own !== undefined && other.revision - own.revision < 1_000;
    });
    expect(await writing.wrong()).toEqual([]);
  });

  test('a dead one is removed and another takes its place; the old one does not come back', async () => {
    const dead = processOf(1);
    const id = await idOf(1);
    await dead.process.stop();
    await membership.remove(id);
    await membership.promote(await join(3));
    await writing.goesOn();
    expect((await membership.list()).map(({ name }) => name).sort()).toEqual(['m0', 'm2', 'm3']);
    // It learns from the others that it was removed.
    await dead.process.keepRunning(dead.start);
    await until(() => dead.process.status.state === 'failed');
    expect(dead.process.status.reason).toContain('it was removed from the cluster');
    expect(await writing.wrong()).toEqual([]);
  });
});

interface Writing {
  /** Resolves when further writes were acknowledged. */
  goesOn(): Promise<void>;
  /** One line for each acknowledged write that is lost, and for each refused one that is present. */
  wrong(): Promise<string[]>;
  stop(): Promise<void>;
}

/** Writing as fast as the processor allows would show no more. */
const betweenWritesMs = 30;

function startWriting(store: Store): Writing {
  const acked = new Map<string, Rev>();
  const refused = new Set<string>();
  const over = new AbortController();
  let unexpected: unknown;
  const write = async (writer: number): Promise<void> => {
    for (let n = 0; !over.signal.aborted; n += 1) {
      const key = `/${writer}/${n}`;
      try {
        acked.set(key, (await store.txn([], [put(key, 'x'.repeat(200))])).rev);
      } catch (error) {
        if (!(error instanceof StoreError)) unexpected = error;
        else if (error.code === 'Unavailable') refused.add(key);
        else if (error.code !== 'Unknown') unexpected = error;
      }
      await sleep(betweenWritesMs);
    }
  };
  const writers = Promise.all([0, 1, 2].map(write));
  return {
    goesOn: async () => {
      const { size } = acked;
      await until(() => acked.size > size + 20);
    },
    wrong: async () => {
      if (unexpected !== undefined) throw unexpected;
      const [known, never] = [new Map(acked), new Set(refused)];
      const found = new Map((await store.range('')).records.map(({ key, modRev }) => [key, modRev]));
      return [
        ...[...known].filter(([key, rev]) => found.get(key) !== rev).map(([key]) => `${key} is lost`),
        ...[...never].filter((key) => found.has(key)).map((key) => `${key} was refused and is there`),
      ];
    },
    stop: async () => {
      over.abort();
      await writers;
    },
  };
}
