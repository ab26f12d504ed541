// Background operations and their events over the real daemon (spec 2.2, 4.7, 4.10, 6), and the rules of both separately.
import { randomUUID } from 'node:crypto';
import { afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { statusCodes } from '../../../server/api/status.ts';
import type { Operation } from '../../../server/api/operation.ts';
import { EventHub } from '../../../server/events/hub.ts';
import { systemClock } from '../../../server/lib/clock.ts';
import { silentLog } from '../../../server/lib/log.ts';
import { Operations } from '../../../server/operations/manager.ts';
import { nextStatus, type Transition } from '../../../server/operations/operation.ts';
import { createContainer, listenOn, setState, type Json } from '../../support/daemons/daemon.ts';
import { seededDaemon } from '../../support/daemons/file-daemon.ts';
import { metadataFile, rootfsDirectory, tarOf } from '../../support/images/hostile.ts';

const daemon = await seededDaemon();
let image = '';
beforeAll(async () => {
  const { metadata } = await daemon.ok('POST', '/1.0/images', tarOf(metadataFile, rootfsDirectory));
  image = String(metadata?.['fingerprint']);
});

const token = async (): Promise<string> =>
  (await daemon.call('POST', `/1.0/images/${image}/secret`, {})).body.operation as string;
let count = 0;
const fresh = (): string => `o${(count += 1)}`;
/** A start that ends after a call of `release`. */
async function heldStart(): Promise<{ name: string; operation: string; release: () => void }> {
  const name = fresh();
  await createContainer(daemon, name);
  let release = (): void => {};
  const held = new Promise<void>((resolve) => (release = resolve));
  daemon.sim.faults.inject({ operation: 'start', container: name, held, times: 1 });
  const answer = await daemon.call('PUT', `/1.0/containers/${name}/state`, { action: 'start' });
  return { name, operation: answer.body.operation as string, release };
}

describe('an operation', () => {
  test('has the fields of the spec, and its URL is in body and Location', async () => {
    const answer = await daemon.call('POST', '/1.0/containers', { name: fresh(), source: { type: 'none' } });
    expect(answer.metadata).toMatchObject({
      class: 'task',
      description: 'Creating container',
      status: 'Running',
      status_code: 103,
      may_cancel: false,
      err: '',
    });
    expect(answer.metadata.id).toMatch(/^[0-9a-f]{8}-[0-9a-f-]{27}$/);
    expect(Date.parse(answer.metadata.created_at as string)).toBeGreaterThan(Date.now() - 10_000);
    const ended = await daemon.wait(answer.body.operation as string);
    expect(ended).toMatchObject({
      id: answer.metadata.id,
      status: 'Success',
      status_code: 200,
      created_at: answer.metadata.created_at,
    });
    expect(await daemon.get('/1.0/operations')).toContain(answer.body.operation);
    expect(
      ((await daemon.get('/1.0/operations?recursion=1')) as Json[]).some((each) => each.id === answer.metadata.id),
    ).toBe(true);
  });

  test('an operation with an unknown id answers 404 to get, wait, cancel and websocket', async () => {
    const path = `/1.0/operations/${randomUUID()}`;
    for (const [method, suffix] of [
      ['GET', ''],
      ['GET', '/wait'],
      ['DELETE', ''],
    ] as const) {
      expect((await daemon.call(method, `${path}${suffix}`)).status).toBe(404);
    }
    await expect(listenOn(`ws+unix://${daemon.socketPath}:${path}/websocket?secret=x`)).rejects.toThrow(/404/);
    await expect(listenOn(`ws+unix://${daemon.socketPath}:${await token()}/websocket?secret=x`)).rejects.toThrow(/400/);
  });

  test('can be waited for without limit, with a limit, and with limit 0', async () => {
    const { operation, release } = await heldStart();
    expect((await daemon.get(`${operation}/wait?timeout=0`)).status).toBe('Running');
    setTimeout(release, 200);
    const [none, minus, long] = await Promise.all(
      ['', '?timeout=-1', '?timeout=30'].map(
        async (query) => (await daemon.get(`${operation}/wait${query}`)) as Operation,
      ),
    );
    expect([none?.status, minus?.status, long?.status]).toEqual(['Success', 'Success', 'Success']);
    expect((await daemon.get(`${operation}/wait`)).status).toBe('Success');
  });

  test('a wait whose time is up answers with the current operation', async () => {
    const { name, operation, release } = await heldStart();
    const answer = await daemon.get(`${operation}/wait?timeout=1`);
    expect([answer.status, answer.status_code]).toEqual(['Running', 103]);
    release();
    await daemon.wait(operation);
    await setState(daemon, name, 'stop', { force: true });
  });

  test.each(['soon', '1.5', '1e3', '0x10'])('a timeout of %j is refused', async (timeout) => {
    const answer = await daemon.call('GET', `${await token()}/wait?timeout=${timeout}`);
    expect([answer.status, answer.body.metadata.details[0].path]).toEqual([400, 'timeout']);
  });

  test('an operation that is cancellable is cancelled, and can still be read; others refuse', async () => {
    const path = await token();
    const cancelled = await daemon.call('DELETE', path);
    expect([cancelled.status, cancelled.body.type]).toEqual([202, 'sync']);
    const ended = await daemon.wait(path);
    expect(ended).toMatchObject({ status: 'Cancelled', status_code: 401, may_cancel: false });
    expect((await daemon.call('DELETE', path)).body.metadata.code).toBe('notCancellable');
    const { operation, release } = await heldStart();
    const refused = await daemon.call('DELETE', operation);
    expect([refused.status, refused.body.metadata.code]).toEqual([400, 'notCancellable']);
    release();
    expect((await daemon.wait(operation)).status).toBe('Success');
  });

  test('continues when the waiting client disconnects', async () => {
    const { operation, release } = await heldStart();
    const { request } = await import('node:http');
    const waiting = request({ socketPath: daemon.socketPath, path: `${operation}/wait`, agent: false });
    waiting.on('error', () => {});
    waiting.end();
    setTimeout(() => waiting.destroy(), 50);
    waiting.once('close', () => setTimeout(release, 50));
    expect((await daemon.wait(operation)).status).toBe('Success');
  });
});

describe('events', () => {
  test('events of an operation come in order: Pending, Running, its lifecycle, the end', async () => {
    const name = fresh();
    const listening = await daemon.listen('operation,lifecycle');
    const answer = await daemon.call('POST', '/1.0/containers', { name, source: { type: 'none' } });
    const { id } = answer.metadata;
    await listening.next((event) => (event.metadata as Json).id === id && (event.metadata as Json).status_code >= 200);
    const mine = listening.events.filter(
      (event) => (event.metadata as Json).id === id || (event.metadata as Json).source === `/1.0/containers/${name}`,
    );
    const shown = mine.map((event) => (event.metadata as Json).status ?? (event.metadata as Json).action);
    expect(shown).toEqual(['Pending', 'Running', 'container-created', 'Success']);
    const times = mine.map((event) => event.timestamp);
    expect(times).toEqual(times.toSorted());
    expect(mine.map((event) => event.location)).toEqual(mine.map(() => 'none'));
    expect(times[0]).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{9}Z$/);
    expect(mine[0]).toMatchObject({
      type: 'operation',
      metadata: { class: 'task', resources: { containers: [`/1.0/containers/${name}`] } },
    });
    expect(mine[2]).toMatchObject({ type: 'lifecycle', metadata: { requestor: { protocol: 'unix' } } });
    listening.close();
  });

  test('have only the requested types; all types by default', async () => {
    const kinds = await Promise.all(
      ['lifecycle', 'logging', 'operation', 'lifecycle,logging', undefined].map((types) => daemon.listen(types)),
    );
    const name = fresh();
    await createContainer(daemon, name, {});
    await daemon.run('PUT', `/1.0/containers/${name}/state`, { action: 'stop' });
    const [lifecycle, logging, operation, two, all] = kinds;
    const isWarning = (event: Json): boolean => event.metadata.level === 'warning';
    const failed = { level: 'warning', message: expect.stringMatching(/^Operation failed/) as string };
    for (const listening of [logging, two, all])
      expect((await listening!.next(isWarning)).metadata).toMatchObject(failed);
    await all!.next(
      (event) =>
        (event.metadata as Json).description === 'Stopping container' && (event.metadata as Json).status === 'Failure',
    );
    const types = (listening: (typeof kinds)[number]): string[] =>
      [...new Set(listening.events.map((event) => event.type as string))].toSorted();
    expect(types(lifecycle!)).toEqual(['lifecycle']);
    expect(types(logging!)).toEqual(['logging']);
    expect(types(operation!)).toEqual(['operation']);
    expect(types(two!)).toEqual(['lifecycle', 'logging']);
    expect(types(all!)).toEqual(['lifecycle', 'logging', 'operation']);
    for (const listening of kinds) listening.close();
  });

  test('events of an unknown type are refused; without an upgrade too', async () => {
    await expect(daemon.listen('operations')).rejects.toThrow(/400/);
    expect((await daemon.call('GET', '/1.0/events')).status).toBe(400);
    await expect(listenOn(`ws+unix://${daemon.socketPath}:/1.0/containers`)).rejects.toThrow(/404/);
  });

  test.each([
    ['profile', () => daemon.call('POST', '/1.0/profiles', { name: 'ev' }), 'profile-created', '/1.0/profiles/ev'],
    ['profile', () => daemon.call('DELETE', '/1.0/profiles/ev'), 'profile-deleted', '/1.0/profiles/ev'],
    [
      'network',
      () =>
        daemon.call('POST', '/1.0/networks', {
          name: 'gtyaev',
          config: { 'ipv4.address': 'none', 'ipv6.address': 'none' },
        }),
      'network-created',
      '/1.0/networks/gtyaev',
    ],
    [
      'pool',
      () => daemon.call('POST', '/1.0/storage-pools', { name: 'ev', driver: 'dir' }),
      'storage-pool-created',
      '/1.0/storage-pools/ev',
    ],
    [
      'alias',
      () => daemon.call('POST', '/1.0/images/aliases', { name: 'a/b', target: image }),
      'image-alias-created',
      '/1.0/images/aliases/a/b',
    ],
    [
      'server',
      () => daemon.call('PATCH', '/1.0', { config: { 'core.proxy_ignore_hosts': 'ev' } }),
      'config-updated',
      '/1.0',
    ],
  ])('of a %s are sent', async (_kind, act, action, source) => {
    const listening = await daemon.listen('lifecycle');
    await act();
    expect((await listening.next((event) => (event.metadata as Json).action === action)).metadata).toMatchObject({
      source,
    });
    listening.close();
  });

  test('a listener that does not read is disconnected, and delays no other', async () => {
    const slow = await daemon.listen('logging');
    const gone = new Promise((resolve) => slow.socket.once('close', resolve));
    slow.socket.pause();
    // Only the output of the hub counts: lines of a megabyte reach the limit sooner than a million operations.
    const text = 'x'.repeat(1024 * 1024);
    const good = await daemon.listen('lifecycle');

    for (let line = 0; line < 40; line += 1) {
      daemon.publish(text);
      await new Promise((resolve) => setImmediate(resolve));
    }
    await createContainer(daemon, fresh());
    await good.next((event) => (event.metadata as Json).action === 'container-created');
    slow.socket.resume();
    await gone;
    good.close();
  });
});

describe('the table of transitions', () => {
  const { pending, running, cancelling, success, failure, cancelled } = statusCodes;
  const allowed: readonly (readonly [number, Transition, number])[] = [
    [pending, 'start', running],
    [pending, 'cancel', cancelling],
    [pending, 'fail', failure],
    [running, 'succeed', success],
    [running, 'fail', failure],
    [running, 'cancel', cancelling],
    [running, 'cancelled', cancelled],
    [cancelling, 'cancelled', cancelled],
    [cancelling, 'succeed', success],
    [cancelling, 'fail', failure],
  ];
  const all: readonly Transition[] = ['start', 'cancel', 'succeed', 'fail', 'cancelled'];
  test('allows exactly these', () => {
    const found = Object.values(statusCodes).flatMap((from) =>
      all.flatMap((transition) => {
        const to = nextStatus(from, transition);
        return to === undefined ? [] : [`${from} ${transition} ${to}`];
      }),
    );
    expect(found.toSorted()).toEqual(allowed.map((row) => row.join(' ')).toSorted());
  });
});

describe('the keeper of operations', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());
  const make = (): Operations => {
    const clock = systemClock();
    return new Operations({ clock, events: new EventHub(clock), log: silentLog });
  };
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
  const task = { description: 'test', resources: {} };

  test('removes an ended operation five seconds after its end, and not before', async () => {
    const operations = make();
    const { id } = operations.start({ ...task, run: () => Promise.resolve({ done: true }) });
    await settled();
    vi.advanceTimersByTime(4990);
    expect(operations.get(id)).toMatchObject({ status: 'Success', metadata: { done: true }, resources: null });
    vi.advanceTimersByTime(20);
    expect(() => operations.get(id)).toThrow(/not found/);
    expect(operations.list()).toEqual([]);
  });

  test('reports the whole chain of causes of a failure', async () => {
    const operations = make();
    const { id } = operations.start({
      ...task,
      run: () => Promise.reject(new Error('outer', { cause: new Error('inner') })),
    });
    await settled();
    expect(operations.get(id)).toMatchObject({ status: 'Failure', status_code: 400, err: 'outer: inner' });
  });

  test('survives work that throws synchronously', async () => {
    const operations = make();
    const { id } = operations.start({
      ...task,
      run: () => {
        throw new Error('at once');
      },
    });
    await settled();
    expect(operations.get(id)).toMatchObject({ status: 'Failure', err: 'at once' });
  });

  test('cancelled work that finishes anyway is a success; work that stops is Cancelled', async () => {
    const operations = make();
    let finish = (): void => {};
    const first = operations.start({
      ...task,
      mayCancel: true,
      run: () => new Promise<void>((resolve) => (finish = resolve)),
    });
    operations.cancel(first.id);
    expect(operations.get(first.id).status).toBe('Cancelling');
    operations.cancel(first.id);
    finish();
    await settled();
    expect(operations.get(first.id).status).toBe('Success');
    const second = operations.start({
      ...task,
      mayCancel: true,
      run: (_handle, signal) =>
        new Promise<void>((_resolve, reject) => signal.addEventListener('abort', () => reject(new Error('stopped')))),
    });
    operations.cancel(second.id);
    await settled();
    expect(operations.get(second.id)).toMatchObject({ status: 'Cancelled', status_code: 401 });
    expect(() => operations.cancel(second.id)).toThrow(/already ended/);
  });

  test('the keeper of operations after close starts nothing new, aborts cancellable work and waits for the rest', async () => {
    const operations = make();
    let finish = (): void => {};
    const slow = operations.start({ ...task, run: () => new Promise<void>((resolve) => (finish = resolve)) });
    const cancellable = operations.start({
      ...task,
      mayCancel: true,
      run: (_handle, signal) =>
        new Promise<void>((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
    });
    let closed = false;
    const closing = operations.close(60_000).then(() => (closed = true));
    expect(() => operations.start({ ...task, run: () => Promise.resolve() })).toThrow(/stopping/);
    await settled();
    expect([operations.get(cancellable.id).status_code >= 200, closed]).toEqual([true, false]);
    finish();
    await closing;
    expect(operations.get(slow.id).status).toBe('Success');
  });
});
