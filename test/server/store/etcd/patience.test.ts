// A call to a slow etcd: its attempts get more time, and it still ends in bounded time.
import { Server, ServerCredentials, type ServerUnaryCall, type UntypedHandleCall } from '@grpc/grpc-js';
import { expect, test } from 'vitest';
import { EtcdLink } from '../../../../server/store/etcd/link.ts';
import { etcdDefinitions } from '../../../../server/store/etcd/member.ts';
import { Patience } from '../../../../server/lib/patience.ts';

const limits = { attemptMs: 2_000, totalMs: 10_000 };

/** The limits of `count` attempts at an etcd of that many members, none of which answers. */
function limitsOf(count: number, members: number): number[] {
  let now = 0;
  const patience = new Patience(limits, () => now);
  return Array.from({ length: count }, () => {
    const limit = patience.limitMs(members);
    now += limit;
    patience.wasLate();
    return limit;
  });
}

test('an attempt gets twice the time when every member was late, but ends with the call or after the first limit', () => {
  expect(limitsOf(4, 1)).toEqual([2_000, 4_000, 4_000, 2_000]);
  expect(limitsOf(5, 3)).toEqual([2_000, 2_000, 2_000, 4_000, 2_000]);
});

test('members that refuse at once take no time from the others', () => {
  const patience = new Patience(limits, () => 0);
  patience.wasLate();
  expect([1, 2, 3].map((members) => patience.limitMs(members))).toEqual([4_000, 2_000, 2_000]);
});

test('the call ends with the time for all attempts', () => {
  let now = 50;
  const patience = new Patience(limits, () => now);
  now = 10_049;
  expect(patience.isOver).toBe(false);
  now = 10_050;
  expect(patience.isOver).toBe(true);
});

test('an etcd slower than the first limit gets its answer through', async () => {
  const needsMs = 300;
  const status = (call: ServerUnaryCall<object, object>, done: (error: null, answer: object) => void): void => {
    const hasTime = Number(call.getDeadline()) - Date.now() > needsMs;
    if (hasTime) done(null, { header: { clusterId: '1', revision: '7', raftTerm: '1' }, version: '3.5.9' });
  };
  const server = new Server();
  const service = etcdDefinitions['etcdserverpb.Maintenance'] as Parameters<Server['addService']>[0];
  server.addService(service, { Status: status as UntypedHandleCall });
  const port = await new Promise<number>((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
      error === null ? resolve(bound) : reject(error),
    );
  });
  const link = new EtcdLink({ endpoints: [`127.0.0.1:${port}`], attemptMs: needsMs, totalMs: 30_000 });
  try {
    expect(await link.call('Status', {})).toMatchObject({ version: '3.5.9' });
  } finally {
    link.close();
    server.forceShutdown();
  }
});
