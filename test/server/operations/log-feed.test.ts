// The daemon's log lines as events: levels and context, no secrets, a bounded number, and no line in reaction to another.
import type { IncomingMessage } from 'node:http';
import { Socket } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { CallerClass } from '../../../server/api/endpoints/endpoint.ts';
import { eventTypesFor } from '../../../server/auth/policy.ts';
import { EventHub } from '../../../server/events/hub.ts';
import { feedingLog, LogFeed } from '../../../server/events/log-feed.ts';
import { logRequest } from '../../../server/http/log-request.ts';
import { withoutSecrets } from '../../../server/lib/shared/without-secrets.ts';
import { systemClock } from '../../../server/lib/clock.ts';
import { silentLog, type Log } from '../../../server/lib/log.ts';
import { createContainer, type Json, makeSeeded, type TestDaemon } from '../../support/daemons/daemon.ts';

interface Line {
  readonly level: string;
  readonly message: string;
  readonly context: Readonly<Record<string, string>>;
}

function feed(inner: Log = silentLog) {
  let nowMs = 1_000_000;
  const clock = { ...systemClock(), nowMs: () => nowMs, timestamp: () => 'now' };
  const hub = new EventHub(clock);
  const lines: Line[] = [];
  const log = feedingLog(inner, new LogFeed(hub, clock));
  const listen = () => hub.subscribe(new Set(['logging']), (event) => lines.push(event.metadata as Line));
  return { hub, log, lines, listen, pass: (ms: number) => (nowMs += ms) };
}

describe('the feed of log lines', () => {
  test('has the level, the message, and the context as texts', () => {
    const { log, lines, listen } = feed();
    listen();
    log.debug('d', { ip: '@', n: 1, gone: undefined });
    log.info('i');
    log.warn('w');
    log.error('e');
    expect(lines).toEqual([
      { level: 'debug', message: 'd', context: { ip: '@', n: '1' } },
      { level: 'info', message: 'i', context: {} },
      { level: 'warning', message: 'w', context: {} },
      { level: 'error', message: 'e', context: {} },
    ]);
  });

  test('is bounded: the lines that are left out are counted, and those of requests displace no warning', () => {
    const { log, lines, listen, pass } = feed();
    listen();
    for (let line = 0; line < 2_000; line += 1) log.debug(`request ${line}`);
    log.warn('seen');
    expect(lines).toHaveLength(501);
    expect(lines.at(-1)).toMatchObject({ level: 'warning', message: 'seen' });
    pass(1_000);
    for (let line = 0; line < 2_000; line += 1) log.debug('later');
    expect(lines[501]).toMatchObject({ level: 'warning', message: '1500 log lines were left out: too many at once' });
    expect(lines).toHaveLength(501 + 1 + 100);
  });

  test('the feed of log lines without listeners costs no allowance', () => {
    const { log, lines, listen } = feed();
    for (let line = 0; line < 2_000; line += 1) log.info('unheard');
    listen();
    log.info('heard');
    expect(lines.map(({ message }) => message)).toEqual(['heard']);
  });

  test('needs no line of a request that neither a listener nor the log gets', () => {
    let written = 0;
    const off = { ...silentLog, debug: () => void (written += 1), writesDebug: () => false };
    const { log, lines, listen } = feed(off);
    let reads = 0;
    const request = {
      method: 'GET',
      socket: new Socket(),
      get url() {
        reads += 1;
        return '/1.0';
      },
    } as unknown as IncomingMessage;
    logRequest(log, request);
    expect([reads, written]).toEqual([0, 0]);
    const stop = listen();
    logRequest(log, request);
    expect(lines.map(({ context }) => context['url'])).toEqual(['/1.0']);
    stop();
    logRequest(log, request);
    expect([reads, lines.length]).toEqual([1, 1]);
    logRequest(feed({ ...off, writesDebug: () => true }).log, request);
    logRequest(feed({ ...silentLog, debug: () => void (written += 1) }).log, request);
    expect(written).toBe(3);
  });

  test('does not answer itself: a line that its listener causes is logged, but not sent', () => {
    const written: string[] = [];
    const { hub, log, lines, listen } = feed({ ...silentLog, warn: (message) => void written.push(message) });
    listen();
    hub.subscribe(new Set(['logging']), () => log.warn('a listener is slow'));
    log.info('one');
    expect([lines.map(({ message }) => message), written]).toEqual([['one'], ['a listener is slow']]);
  });

  test('and the log itself have no secrets', () => {
    const written: string[] = [];
    const { log, lines, listen } = feed({
      ...silentLog,
      error: (text, context) => void written.push(text, JSON.stringify(context)),
    });
    listen();
    log.error('GET /x?secret=hush&a=b failed', { url: '/1.0/images/f/export?a=b&secret=hush', n: 1 });
    expect(lines).toEqual([
      {
        level: 'error',
        message: 'GET /x?secret=***&a=b failed',
        context: { url: '/1.0/images/f/export?a=b&secret=***', n: '1' },
      },
    ]);
    expect(written.join('')).not.toContain('hush');
  });

  test.each([
    ['/a?password=p w', '/a?password=*** w'],
    ['/a?x=1&token=abc"', '/a?x=1&token=***"'],
    ['/a?secretary=1', '/a?secretary=1'],
    ['x -----BEGIN EC PRIVATE KEY-----\nabc\n-----END EC PRIVATE KEY----- y', 'x (a private key) y'],
    ['x -----BEGIN PRIVATE KEY-----\nabc', 'x (a private key)'],
    ['nothing = here', 'nothing = here'],
  ])('%j becomes %j', (text, clean) => expect(withoutSecrets(text)).toBe(clean));
});

test('only callers who may see everything get log lines', () => {
  const all = new Set(['operation', 'logging', 'lifecycle'] as const);
  expect([...eventTypesFor('trusted', all)]).toEqual(['operation', 'logging', 'lifecycle']);
  for (const caller of ['untrusted', 'guest', 'restricted'])
    expect([...eventTypesFor(caller as CallerClass, all)], caller).toEqual(['operation', 'lifecycle']);
});

describe('the stream of a daemon', () => {
  let daemon: TestDaemon;
  beforeAll(async () => {
    daemon = await makeSeeded();
    await createContainer(daemon, 'c1');
  });
  afterAll(() => daemon?.cleanUp());

  test('has a line for each request, with address, method and URL', async () => {
    const listening = await daemon.listen('logging');
    await daemon.call('GET', '/1.0/containers?recursion=1&secret=hush');
    const event = await listening.next((one) => (one.metadata as Json).level === 'debug');
    expect(event.metadata).toEqual({
      level: 'debug',
      message: 'Handling a request',
      context: { ip: '@', method: 'GET', url: '/1.0/containers?recursion=1&secret=***' },
    });
    listening.close();
  });

  test('has a line for an upgrade to a websocket, and the failure of an operation', async () => {
    const listening = await daemon.listen('logging');
    (await daemon.listen('operation')).close();
    await listening.next((one) => (one.metadata as Line).context['url']?.startsWith('/1.0/events') === true);
    await daemon.run('PUT', '/1.0/containers/c1/state', { action: 'stop' });
    const failed = await listening.next((one) => (one.metadata as Json).level === 'warning');
    expect(failed.metadata).toMatchObject({ message: expect.stringMatching(/^Operation failed/) as string });
    listening.close();
  });

  test('is quiet when nothing is asked: its own listeners cause no lines', async () => {
    const listeners = await Promise.all([daemon.listen('logging'), daemon.listen('logging')]);
    const before = listeners.map(({ events }) => events.length);
    for (let round = 0; round < 3; round += 1) daemon.publish(`line ${round}`);
    await listeners[1]?.next((one) => (one.metadata as Json).message === 'line 2');
    expect(listeners.map(({ events }, index) => events.length - (before[index] ?? 0))).toEqual([3, 3]);
    for (const listening of listeners) listening.close();
  });
});
