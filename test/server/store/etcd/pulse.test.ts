// A member of etcd that stops working is left before the limit of a call; a slow one is waited for.
import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { EtcdFailure } from '../../../../server/store/etcd/failure.ts';
import { EtcdLink } from '../../../../server/store/etcd/link.ts';
import type { Member } from '../../../../server/store/etcd/member.ts';
import { Pulse } from '../../../../server/store/etcd/pulse.ts';
import { openRelay } from '../../../support/store/cuttable.ts';
import { etcdMissing, startEtcd } from '../../../support/store/etcd.ts';
import { until } from '../../../support/until.ts';

const missing = etcdMissing();
if (missing !== undefined) console.log(`skipped: the pulse of an etcd: ${missing}`);

/** A member that only answers with its status. */
function memberWith(status: () => Promise<{ leader: string; term?: number }>): {
  readonly member: Member;
  readonly asked: string[];
} {
  const asked: string[] = [];
  const call = (name: string): Promise<object> => {
    asked.push(name);
    return status().then(({ leader, term = 1 }) => ({ leader, header: { raftTerm: String(term) } }));
  };
  return { member: { endpoint: 'one', call } as unknown as Member, asked };
}

/** A call that the test answers. */
function call() {
  let answer = (): void => {};
  const begin = (over: AbortSignal): Promise<string> =>
    new Promise((resolve, reject) => {
      answer = () => resolve('answered');
      over.addEventListener('abort', () => reject(new Error('given up', { cause: over.reason })));
    });
  return { begin, answer: () => answer() };
}

test('a slow answer of a member that has a leader is waited for', async () => {
  const { member, asked } = memberWith(() => Promise.resolve({ leader: '7' }));
  const slow = call();
  const waiting = new Pulse().watching(member, { limitMs: 20, term: 0 }, slow.begin);
  await until(() => asked.length >= 4);
  slow.answer();
  expect(await waiting).toBe('answered');
});

test.each([
  ['has no leader', () => Promise.resolve({ leader: '0' })],
  ['does not answer', () => Promise.reject(new EtcdFailure('unreachable', 'Unavailable', 'x'))],
])('a call to a member that %s is given up', async (_, status) => {
  const { member } = memberWith(status);
  await expect(new Pulse().watching(member, { limitMs: 20, term: 0 }, call().begin)).rejects.toThrow('given up');
});

test('a call that began under a former leader is given up, and its member is kept', async () => {
  let term = 4;
  const { member, asked } = memberWith(() => Promise.resolve({ leader: '7', term }));
  const waiting = new Pulse().watching(member, { limitMs: 20, term: 4 }, call().begin);
  waiting.catch(() => {});
  await until(() => asked.length >= 3);
  term = 5;
  await expect(waiting).rejects.toMatchObject({ cause: { kind: 'unreachable', hasNewLeader: true, isLate: false } });
});

test('a call that began before any term was known is given up when the term changes after a first check', async () => {
  let term = 4;
  const { member, asked } = memberWith(() => Promise.resolve({ leader: '7', term }));
  const waiting = new Pulse().watching(member, { limitMs: 20, term: 0 }, call().begin);
  waiting.catch(() => {});
  await until(() => asked.length >= 3);
  term = 5;
  await expect(waiting).rejects.toMatchObject({ cause: { hasNewLeader: true } });
});

test('a member that refuses to show its status is waited for', async () => {
  const { member, asked } = memberWith(() => Promise.reject(new EtcdFailure('denied', 'Invalid', 'x')));
  const slow = call();
  const waiting = new Pulse().watching(member, { limitMs: 20, term: 0 }, slow.begin);
  await until(() => asked.length >= 2);
  slow.answer();
  expect(await waiting).toBe('answered');
});

test('many calls ask for the status once at a time, and none asks after its answer', async () => {
  let running = 0;
  const { member, asked } = memberWith(async () => {
    running += 1;
    expect(running).toBe(1);
    await new Promise((resolve) => setImmediate(resolve));
    running -= 1;
    return { leader: '7' };
  });
  const pulse = new Pulse();
  const calls = Array.from({ length: 50 }, call);
  const waiting = calls.map(({ begin }) => pulse.watching(member, { limitMs: 20, term: 0 }, begin));
  await until(() => asked.length >= 3);
  for (const { answer } of calls) answer();
  expect(await Promise.all(waiting)).toEqual(calls.map(() => 'answered'));
  const before = asked.length;
  await new Promise((resolve) => setTimeout(resolve, 40));
  expect(asked.length).toBe(before);
});

test.skipIf(missing !== undefined)('an etcd whose answers are lost is left before the limit', async () => {
  const etcd = await startEtcd();
  const relay = await openRelay(etcd.endpoints[0] ?? '');
  const link = new EtcdLink({ endpoints: [relay.address, ...etcd.endpoints], attemptMs: 8_000 });
  try {
    const request = { key: Buffer.from('a') };
    await link.attempt('Range', request);
    relay.cut('answers');
    await expect(link.attempt('Range', request)).rejects.toMatchObject({
      kind: 'unreachable',
      isLate: true,
      message: expect.stringContaining('has stopped answering'),
    });
    expect((await link.attempt('Range', request)).header).toBeTruthy();
  } finally {
    link.close();
    relay.close();
    await etcd.stop();
  }
});

test.skipIf(missing !== undefined)(
  'a write that a follower passed on to a frozen leader ends with the next election',
  async () => {
    const etcd = await startEtcd({ members: 3 });
    const put = { requestPut: { key: Buffer.from('a'), value: Buffer.from('b') } };
    const write = { compare: [], success: [put], failure: [] };
    /** The failure of a write through a follower of the frozen leader; undefined if another member led by then. */
    const writeToFrozen = async (): Promise<unknown> => {
      const leader = etcd.leader();
      const [follower = ''] = etcd.endpoints.filter((_, member) => member !== leader);
      // A check every four seconds; an election takes one or two.
      const link = new EtcdLink({ endpoints: [follower, follower], attemptMs: 16_000, totalMs: 60_000 });
      try {
        await link.call('Txn', write);
        etcd.signal(leader, 'SIGSTOP');
        await until(() => isStopped(etcd.pid(leader)));
        const failure = await link.attempt('Txn', write).then(
          () => undefined,
          (error: unknown) => error,
        );
        expect(await link.call('Txn', write)).toMatchObject({ succeeded: true });
        return failure;
      } finally {
        etcd.signal(leader, 'SIGCONT');
        link.close();
      }
    };
    try {
      // On a busy machine the leader may change before it is frozen, and an election may outlast a check.
      await until(async () => {
        const failure = await writeToFrozen();
        return failure instanceof EtcdFailure && failure.kind === 'unreachable' && failure.hasNewLeader;
      });
    } finally {
      await etcd.stop();
    }
  },
);

const isStopped = (pid: number): boolean => /\) T /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
