// A member of etcd resets its streams in a turn of the event loop of their own: Node.js may still read from the connection before.
import { createServer, type Http2Server } from 'node:http2';
import type { AddressInfo } from 'node:net';
import { setImmediate as nextTurn, setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EtcdMembership } from '../../../../server/membership/etcd/membership.ts';
import { Member } from '../../../../server/store/etcd/member.ts';
import { until } from '../../../support/until.ts';

let server: Http2Server;
let member: Member;

beforeAll(async () => {
  server = createServer();
  server.on('stream', (stream) => {
    stream.on('error', () => {});
    stream.respond({ ':status': 200, 'content-type': 'application/grpc' });
    stream.resume();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  member = new Member(address(), {});
});
afterAll(() => {
  member.close();
  server.close();
});

const address = (): string => `127.0.0.1:${(server.address() as AddressInfo).port}`;

/** Everything that this turn of the event loop still runs. */
async function restOfTurn(): Promise<void> {
  for (let n = 0; n < 50; n += 1) await new Promise<void>((resolve) => process.nextTick(resolve));
}

test('a cancelled stream ends in the next turn', async () => {
  const stream = member.open('Watch', member.metadata());
  let hasEnded = false;
  stream.once('error', () => {
    hasEnded = true;
  });
  stream.write({ createRequest: { key: Buffer.from('a'), rangeEnd: Buffer.from('b') } });
  await new Promise((resolve) => stream.once('metadata', resolve));
  await nextTurn();
  member.endStreams();
  await restOfTurn();
  expect(hasEnded).toBe(false);
  await until(() => Promise.resolve(hasEnded));
});

test('the maintenance of an etcd that hangs ends at once when it is closed', async () => {
  const membership = new EtcdMembership({ endpoints: [address()] });
  const asked = [membership.defragment(address()), membership.statusOf(address())];
  const ended = Promise.allSettled(asked);
  await nextTurn();
  membership.close();
  const late = new AbortController();
  const isLate = pause(2_000, 'late', { signal: late.signal }).catch(() => 'ended');
  const results = await Promise.race([ended, isLate]);
  late.abort();
  expect(results).toMatchObject(asked.map(() => ({ status: 'rejected', reason: { message: 'the store is closed' } })));
  await expect(membership.statusOf(address())).rejects.toThrow('the store is closed');
});

test('a call that is given up ends in the next turn, with the reason', async () => {
  const over = new AbortController();
  let reason: unknown;
  const call = member.call('Status', {}, member.metadata(), 60_000, over.signal).catch((error: unknown) => {
    reason = error;
  });
  await nextTurn();
  const why = new Error('given up');
  over.abort(why);
  await restOfTurn();
  expect(reason).toBeUndefined();
  await call;
  expect(reason).toBe(why);
});
