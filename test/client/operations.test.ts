// Waiting for operations and reading events: nothing is lost, also while the socket is disconnected.
import { afterEach, expect, test } from 'vitest';
import type { Operation } from '../../server/api/operation.ts';
import { createClient, type Client } from '../../server/client/client.ts';
import { isNotFound, type ClientError } from '../../server/client/client-error.ts';
import { DeadlineError, within } from '../../server/lib/shared/deadline.ts';
import type { Event } from '../../server/client/events/event-types.ts';
import { startFakeDaemon, type FakeDaemon, type FakeDaemonOptions } from '../support/fakes/http-daemon.ts';
import { until } from '../support/until.ts';

const cleanups: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

async function setUp(options: FakeDaemonOptions = {}): Promise<{ daemon: FakeDaemon; client: Client }> {
  const daemon = await startFakeDaemon(options);
  const client = createClient(daemon.host);
  cleanups.push(
    () => daemon.stop(),
    () => client.close(),
  );
  return { daemon, client };
}

const startsOperation = (daemon: FakeDaemon, then: (operation: ReturnType<FakeDaemon['newOperation']>) => void) => {
  daemon.routes['PUT /1.0/containers/c1/state'] = () => {
    const operation = daemon.newOperation();
    const answer = { async: { ...operation } };
    then(operation);
    return answer;
  };
};

test('the event socket is open before the operation starts, and updates arrive in order', async () => {
  const { daemon, client } = await setUp();
  let listeners = 0;
  startsOperation(daemon, (operation) => {
    listeners = daemon.sockets.size;
    setTimeout(() => daemon.update(operation, { metadata: { unpack: '50%' } }), 20);
    setTimeout(() => daemon.finish(operation, { metadata: { unpack: '100%' } }), 40);
  });
  const seen: (string | undefined)[] = [];
  const reply = await client.operations.run(
    () => client.putContainerState('c1', { action: 'start' }),
    undefined,
    (operation: Operation) => seen.push(operation.metadata?.['unpack'] as string | undefined),
  );
  expect(listeners).toBe(1);
  expect(reply.operation?.status_code).toBe(200);
  // On a busy machine intermediate states may be over before they are read; order and end are always right.
  expect(seen.at(-1)).toBe('100%');
  expect([undefined, '50%', '100%'].filter((step) => seen.includes(step))).toEqual(seen);
});

test('the wait for an operation that ends before its answer is read returns', async () => {
  const { daemon, client } = await setUp();
  startsOperation(daemon, (operation) => daemon.finish(operation));
  const reply = await client.operations.run(() => client.putContainerState('c1', { action: 'start' }));
  expect(reply.operation?.status_code).toBe(200);
});

test('an operation that ended and was removed by the server is known from its event', async () => {
  const { daemon, client } = await setUp();
  startsOperation(daemon, (operation) => {
    daemon.finish(operation, { status_code: 400, status: 'Failure', err: 'no space' });
    daemon.operations.delete(operation.id);
  });
  const failed = client.operations.run(async () => {
    const reply = await client.putContainerState('c1', { action: 'start' });
    await new Promise((resolve) => setTimeout(resolve, 50));
    return reply;
  });
  await expect(failed).rejects.toMatchObject({ code: 'operationFailed', message: 'Doing something: no space' });
});

const readsOf = (daemon: FakeDaemon): number =>
  daemon.requests.filter(({ path }) => path.startsWith('/1.0/operations/')).length;

/** A client whose event socket has delivered an event. */
async function setUpHeard(): Promise<{ daemon: FakeDaemon; client: Client }> {
  const both = await setUp();
  startsOperation(both.daemon, (operation) => setTimeout(() => both.daemon.finish(operation), 20));
  await both.client.operations.run(() => both.client.putContainerState('c1', { action: 'start' }));
  both.daemon.requests.length = 0;
  return both;
}

test('once events arrive, an operation needs one request, including its end and its progress', async () => {
  const { daemon, client } = await setUpHeard();
  startsOperation(daemon, (operation) => {
    daemon.update(operation, { metadata: { unpack: '50%' } });
    setTimeout(() => daemon.finish(operation, { metadata: { fingerprint: 'f' } }), 20);
  });
  const reads: number[] = [];
  for (let round = 0; round < 3; round += 1) {
    daemon.requests.length = 0;
    const codes: number[] = [];
    const reply = await client.operations.run(
      () => client.putContainerState('c1', { action: 'start' }),
      undefined,
      ({ status_code }) => codes.push(status_code),
    );
    expect(reply.operation?.metadata).toEqual({ fingerprint: 'f' });
    expect(codes.at(-1)).toBe(200);
    reads.push(readsOf(daemon));
  }
  // When the machine stalls for a second one of them may be read.
  expect(reads).toContain(0);
});

test('an end without an event is found by a read, although events usually arrive', async () => {
  const { daemon, client } = await setUpHeard();
  startsOperation(daemon, (operation) => setTimeout(() => daemon.finish(operation, {}, true), 20));
  const reply = await client.operations.run(() => client.putContainerState('c1', { action: 'start' }));
  expect(reply.operation?.status_code).toBe(200);
  expect(readsOf(daemon)).toBeGreaterThan(0);
});

test('an operation that begins while the socket breaks is read', async () => {
  const { daemon, client } = await setUpHeard();
  startsOperation(daemon, (operation) => {
    daemon.dropSockets();
    daemon.finish(operation, {}, true);
  });
  const reply = await client.operations.run(() => client.putContainerState('c1', { action: 'start' }));
  expect(reply.operation?.status_code).toBe(200);
});

test('the end of a failed operation is read once more, for metadata that only the answer has', async () => {
  const { daemon, client } = await setUpHeard();
  startsOperation(daemon, (operation) => {
    setTimeout(() => {
      daemon.finish(operation, { status_code: 400, status: 'Failure', err: '' });
      Object.assign(operation, { err: 'no space' });
    }, 20);
  });
  const failed = client.operations.run(() => client.putContainerState('c1', { action: 'start' }));
  await expect(failed).rejects.toMatchObject({ code: 'operationFailed', message: 'Doing something: no space' });
});

test('two waits for one operation both end, the second not later than the first', async () => {
  const { daemon, client } = await setUpHeard();
  const operation = daemon.newOperation();
  const both = Promise.all([client.operations.wait(operation.id), client.operations.wait(operation.id)]);
  await until(() => readsOf(daemon) === 2);
  daemon.finish(operation);
  expect((await both).map(({ status_code }) => status_code)).toEqual([200, 200]);
  expect(readsOf(daemon)).toBe(2);
});

test('an operation that the server no longer knows is lost: it has not failed, and its object is not missing', async () => {
  const { client } = await setUp();
  const error = await client.operations.wait('11111111-0000-0000-0000-000000000000').catch((reason: unknown) => reason);
  expect([(error as ClientError).code, (error as ClientError).status, isNotFound(error)]).toEqual([
    'operationLost',
    404,
    false,
  ]);
});

test('a command whose operation is gone before its channels are connected is not taken for a missing container', async () => {
  const { daemon, client } = await setUp({ events: false });
  const exec = (): Promise<unknown> => {
    const { stdout, stderr } = process;
    return client.exec('c1', { command: ['true'], stdout, stderr }).catch((reason: unknown) => reason);
  };
  let isKept = false;
  daemon.routes['POST /1.0/containers/c1/exec'] = () => {
    const operation = daemon.newOperation();
    const answer = { async: { ...operation, metadata: { fds: { '0': 'a', '1': 'b', '2': 'c', control: 'd' } } } };
    if (isKept) daemon.finish(operation, { metadata: { return: 0 } });
    else daemon.operations.delete(operation.id);
    return answer;
  };
  for (const kept of [false, true]) {
    isKept = kept;
    const error = await exec();
    expect([(error as ClientError).code, isNotFound(error)]).toEqual(['operationLost', false]);
  }
});

test('the wait endpoint is used where there is no event endpoint', async () => {
  const { daemon, client } = await setUp({ events: false });
  const isAwaited = (): boolean => daemon.requests.some(({ path }) => path.endsWith('/wait'));
  startsOperation(daemon, (operation) => void until(isAwaited).then(() => daemon.finish(operation)));
  const reply = await client.operations.run(() => client.putContainerState('c1', { action: 'start' }));
  expect(reply.operation?.status_code).toBe(200);
});

test('an end is found although the socket was disconnected at that time', async () => {
  const { daemon, client } = await setUp();
  const operation = daemon.newOperation();
  const waiting = client.operations.wait(operation.id);
  await until(() => daemon.sockets.size === 1 && daemon.requests.length > 0);
  daemon.dropSockets();
  daemon.finish(operation, {}, true);
  expect((await waiting).status_code).toBe(200);
});

test('the socket reconnects after it broke', async () => {
  const { daemon, client } = await setUp();
  const operation = daemon.newOperation();
  const waiting = client.operations.wait(operation.id);
  await until(() => daemon.sockets.size === 1);
  daemon.dropSockets();
  await until(() => daemon.eventConnections === 2);
  daemon.finish(operation);
  expect((await waiting).status_code).toBe(200);
});

test('a cancelled operation rejects as cancelled, and the abort of the waiter leaves the operation alone', async () => {
  const { daemon, client } = await setUp();
  const operation = daemon.newOperation();
  const controller = new AbortController();
  const aborted = client.operations.wait(operation.id, controller.signal);
  await until(() => daemon.requests.length > 0);
  controller.abort(new Error('user'));
  await expect(aborted).rejects.toThrow('user');
  expect(daemon.requests.some(({ method }) => method === 'DELETE')).toBe(false);
  const waiting = client.operations.wait(operation.id);
  daemon.finish(operation, { status_code: 401, status: 'Cancelled' });
  await expect(waiting).rejects.toMatchObject({ code: 'operationCancelled' });
});

test('a time limit around a wait ends it at once', async () => {
  const { daemon, client } = await setUp();
  const operation = daemon.newOperation();
  const started = Date.now();
  const limited = within(300, (signal) => client.operations.wait(operation.id, signal), undefined);
  await expect(limited).rejects.toBeInstanceOf(DeadlineError);
  // Without it the operation would be read again after ten seconds.
  expect(Date.now() - started).toBeLessThan(10_000);
});

test('many waits share one event socket', async () => {
  const { daemon, client } = await setUp();
  const operations = Array.from({ length: 40 }, () => daemon.newOperation());
  const waits = operations.map((operation) => client.operations.wait(operation.id));
  await until(() => daemon.sockets.size === 1);
  for (const operation of operations) daemon.finish(operation);
  expect((await Promise.all(waits)).every(({ status_code }) => status_code === 200)).toBe(true);
  expect(daemon.eventConnections).toBe(1);
});

test('events are iterated until the signal fires; a slow reader loses the oldest and is notified', async () => {
  const { daemon, client } = await setUp();
  const controller = new AbortController();
  const gaps: string[] = [];
  let ready = false;
  const seen: Event[] = [];
  let release = (): void => {};
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  const reading = (async () => {
    const options = { bufferSize: 2, onGap: (reason: string) => gaps.push(reason), onReady: () => (ready = true) };
    for await (const event of client.events(['lifecycle'], controller.signal, options)) {
      seen.push(event);
      await held;
    }
  })();
  await until(() => ready);
  for (const action of ['a', 'b', 'c', 'd']) {
    daemon.emit('lifecycle', { action });
    if (action === 'a') await until(() => seen.length === 1);
  }
  await until(() => gaps.length === 1);
  release();
  await until(() => seen.length === 3);
  expect(seen.map(({ metadata }) => (metadata as { action: string }).action)).toEqual(['a', 'c', 'd']);
  expect(gaps).toEqual(['overflow']);
  daemon.dropSockets();
  await until(() => gaps.includes('reconnected'));
  controller.abort();
  await reading;
  await until(() => daemon.sockets.size === 0);
});
