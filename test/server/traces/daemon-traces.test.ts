// Spans of a daemon: turning them on and off by config, the trace of a request, and that a collector never delays work.
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { createServer, type AddressInfo, type Server } from 'node:net';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import { channelOf, startExec } from '../../support/daemons/channels.ts';
import { ancestors, startCollector, type CollectedSpan, type Collector } from '../../support/daemons/collector.ts';
import { makeDaemon, realRuntimeMissing, seed, setState, type TestDaemon } from '../../support/daemons/daemon.ts';
import { busyboxContainer } from '../../support/hostile/busybox-container.ts';
import { until } from '../../support/until.ts';

let daemon: TestDaemon;
let collector: Collector;
const traceId = '0af7651916cd43dd8448eb211c80319c';
const spanId = 'b7ad6b7169203331';
const set = async (config: Record<string, string>): Promise<void> => {
  const answer = await daemon.call('PATCH', '/1.0', { config });
  expect(answer.status, answer.bytes.toString()).toBe(200);
};

beforeAll(async () => {
  collector = await startCollector();
  daemon = await makeDaemon();
});
afterAll(async () => {
  await daemon.cleanUp();
  await collector.close();
});

let count = 0;
/** A unique request, and its span. */
async function traced(headers: Record<string, string | string[]>) {
  const name = `p${(count += 1)}`;
  expect((await daemon.call('POST', '/1.0/profiles', { name }, headers)).status).toBe(200);
  expect((await daemon.call('GET', `/1.0/profiles/${name}`, undefined, headers)).status).toBe(200);
  return collector.span(
    'GET /1.0/profiles/:name',
    ({ attributes }) => attributes['url.path'] === `/1.0/profiles/${name}`,
  );
}

test('a daemon without a collector traces nothing; the config turns it on at once', async () => {
  expect((await daemon.call('GET', '/1.0/profiles')).status).toBe(200);
  await set({ 'core.trace_endpoint': collector.url });
  const span = await traced({ traceparent: `00-${traceId}-${spanId}-01` });
  expect(span).toMatchObject({ traceId, parentSpanId: spanId, service: 'gantryd', kind: 2 });
  expect(collector.spans.filter(({ name }) => name === 'GET /1.0/profiles')).toEqual([]);
});

test.each([
  ['is too long', `00-${traceId}-${spanId}-01${'a'.repeat(2000)}`],
  ['has other letters', `00-${'z'.repeat(32)}-${spanId}-01`],
  ['has a trace of zeros', `00-${'0'.repeat(32)}-${spanId}-01`],
  ['is there twice', [`00-${traceId}-${spanId}-01`, `00-${traceId}-${spanId}-01`]],
  ['has text', 'DROP TABLE; <script>'],
])('a request whose traceparent %s begins a trace of its own', async (_, traceparent) => {
  const span = await traced({ traceparent });
  expect(span.traceId).not.toBe(traceId);
  expect(span.parentSpanId).toBeUndefined();
});

test('a request of an unrecorded trace is not recorded, and of the others the configured share is', async () => {
  const unrecorded = { traceparent: `00-${traceId}-${spanId}-00` };
  expect((await daemon.call('GET', '/1.0/networks', undefined, unrecorded)).status).toBe(200);
  await set({ 'core.trace_sample_ratio': '0' });
  expect((await daemon.call('GET', '/1.0/networks')).status).toBe(200);
  await traced({ traceparent: `00-${traceId}-${spanId}-01` });
  expect(collector.spans.filter(({ name }) => name === 'GET /1.0/networks')).toEqual([]);
  await set({ 'core.trace_sample_ratio': '' });
});

test('an operation is a span until it ends, also when the request was answered before', async () => {
  const body = { name: 'p', driver: 'dir' };
  expect((await daemon.call('POST', '/1.0/storage-pools', body)).status).toBe(200);
  const devices = { root: { type: 'disk', path: '/', pool: 'p' } };
  await daemon.ok('POST', '/1.0/containers', { name: 'c', source: { type: 'none' }, devices });
  await daemon.ok('PUT', '/1.0/containers/c/state', { action: 'start' });
  await daemon.ok('PUT', '/1.0/containers/c/state', { action: 'stop', force: true });
  const start = await collector.span('start container');
  expect(start.attributes).toMatchObject({
    'gantry.container': 'c',
    'gantry.project': 'default',
    'gantry.runtime': 'sim',
  });
  await until(() => ancestors(collector, start).length === 2);
  const [operation, request] = ancestors(collector, start);
  expect(operation?.name).toBe('operation: Starting container');
  expect(request?.name).toBe('PUT /1.0/containers/:name/state');
  expect(request?.parentSpanId).toBeUndefined();
  expect(operation?.attributes['gantry.operation']).toMatch(/^[0-9a-f-]{36}$/);
});

test('a channel belongs to the trace of its operation, and a stream of events to a trace of its own, until they end', async () => {
  await daemon.ok('PUT', '/1.0/containers/c/state', { action: 'start' });
  const names = new Set(collector.spans.map(({ spanId: id }) => id));
  const body = { command: ['cat'], interactive: false };
  const session = await startExec(daemon, 'c', body);
  channelOf(session, '0').barrier();
  await session.ended;
  const operation = await collector.span('operation: Executing command', ({ spanId: id }) => !names.has(id));
  await until(() => channelsOf(operation).length === 4);
  for (const channel of channelsOf(operation)) {
    expect(channel).toMatchObject({ parentSpanId: operation.spanId, kind: 2, service: 'gantryd' });
    const id = operation.attributes['gantry.operation'];
    expect(channel.attributes).toMatchObject({
      'http.response.status_code': 101,
      'network.protocol.name': 'websocket',
      'url.path': `/1.0/operations/${String(id)}/websocket`,
      'gantry.operation': id,
    });
  }
  expect(JSON.stringify(channelsOf(operation))).not.toContain('secret');
  const events = await daemon.listen('lifecycle');
  expect(collector.spans.some(({ name }) => name === 'GET /1.0/events')).toBe(false);
  events.close();
  const stream = await collector.span('GET /1.0/events');
  expect(stream.parentSpanId).toBeUndefined();
  await daemon.ok('PUT', '/1.0/containers/c/state', { action: 'stop', force: true });
});

const channelsOf = (operation: CollectedSpan): readonly CollectedSpan[] =>
  collector.spans.filter(
    ({ name, traceId: id }) => name === 'GET /1.0/operations/:id/websocket' && id === operation.traceId,
  );

test('a channel that names a trace belongs to that one, and a refused one records so', async () => {
  const socket = new WebSocket(`ws+unix://${daemon.socketPath}:/1.0/operations/nothing/websocket?secret=abc`, {
    headers: { traceparent: `00-${traceId}-${spanId}-01` },
  });
  await new Promise((resolve) => socket.once('error', resolve));
  const refused = await collector.span('GET /1.0/operations/:id/websocket', ({ traceId: id }) => id === traceId);
  expect(refused).toMatchObject({ parentSpanId: spanId, attributes: { 'http.response.status_code': 404 } });
});

test('an operation that fails is a failed span with its reason', async () => {
  const answer = await daemon.call('PUT', '/1.0/containers/c/state', { action: 'stop', force: true });
  if (answer.status === 202) await daemon.wait(answer.body.operation as string);
  const failed = await collector.span('operation: Stopping container', ({ status }) => status?.code === 2);
  expect(failed.status?.message).toContain('already stopped');
});

test('a collector that refuses, is missing or silent delays neither requests nor the end of the daemon', async () => {
  const listening = async (server: Server): Promise<string> => {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void server.close());
    return `127.0.0.1:${(server.address() as AddressInfo).port}`;
  };
  const refusing = await listening(createHttpServer((_request, response) => void response.writeHead(400).end()));
  const silent = await listening(createServer((socket) => void socket.on('error', () => {})));
  for (const address of [refusing, '127.0.0.1:9', silent]) {
    await set({ 'core.trace_endpoint': `http://${address}` });
    const beganMs = Date.now();
    await Promise.all(Array.from({ length: 20 }, () => daemon.call('GET', '/1.0/networks')));
    expect(Date.now() - beganMs).toBeLessThan(60_000);
  }
  await until(() => daemon.logged.some((line) => line.includes(`traces are not sent to ${refusing}`)));
  const endsMs = Date.now() + 30_000;
  await daemon.stop();
  expect(Date.now()).toBeLessThan(endsMs);
  await daemon.restart();
  expect((await daemon.call('GET', '/1.0/networks')).status).toBe(200);
});

const missing = await realRuntimeMissing();
if (missing !== undefined) console.log(`skipped: traces of real containers: ${missing}`);
test.skipIf(missing !== undefined)(
  'the trace of a real container has the unpacking of its image and its start',
  async () => {
    const real = await makeDaemon({ runtime: 'lxc' });
    try {
      const config = { 'core.trace_endpoint': collector.url };
      expect((await real.call('PATCH', '/1.0', { config })).status).toBe(200);
      await seed(real);
      await busyboxContainer(real, 'c1', 'lxc');
      expect((await setState(real, 'c1', 'start')).err).toBe('');
      const start = await collector.span(
        'start container',
        ({ attributes }) => attributes['gantry.runtime'] === 'lxc' && attributes['gantry.container'] === 'c1',
      );
      const unpack = await collector.span('unpack image');
      await until(() => [start, unpack].every((span) => ancestors(collector, span).at(-1)?.kind === 2));
      expect(ancestors(collector, start).map(({ name }) => name)).toEqual([
        'operation: Starting container',
        'PUT /1.0/containers/:name/state',
      ]);
      expect(ancestors(collector, unpack).at(-1)?.name).toBe('POST /1.0/containers');
      const took = (span: typeof start): bigint => BigInt(span.endTimeUnixNano) - BigInt(span.startTimeUnixNano);
      // A real start forks and mounts: it takes milliseconds.
      expect(took(start)).toBeGreaterThan(1_000_000n);
    } finally {
      await real.cleanUp();
    }
  },
  120_000,
);

test('invalid settings are refused with the reason', async () => {
  const answer = await daemon.call('PATCH', '/1.0', {
    config: { 'core.trace_endpoint': 'collector:4318', 'core.trace_sample_ratio': '2' },
  });
  expect(answer.status).toBe(400);
  const text = answer.bytes.toString();
  expect(text).toContain('must be an http or https URL');
  expect(text).toContain('must be a number from 0 to 1, such as 0.1');
});
