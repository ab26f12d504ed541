// Answers of a controller: results of the contract, event streams, probes, metrics, page files, and bad requests.
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, request as httpRequest, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { validateBody } from '../../../../server/api/schema/validate-json.ts';
import { AuditLog } from '../../../../reconciler/controller/audit/audit-log.ts';
import type { ControllerEvent } from '../../../../reconciler/controller/contract/index.ts';
import { endpoints } from '../../../../reconciler/controller/http/endpoints.ts';
import { EventStream } from '../../../../reconciler/controller/http/streams/event-stream.ts';
import type { WebhookRequest } from '../../../../reconciler/controller/sources/webhooks/receive-webhooks.ts';
import { anObject, anOperation, aSet, FakeController } from '../../../support/controller/fake-controller.ts';
import { startHttp, tokens, type HttpHarness } from '../../../support/controller/http-harness.ts';
import { until } from '../../../support/until.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

let http: HttpHarness;
const page = tempFolder('gantry-page-');
const state = tempFolder('gantry-state-');
const audit = new AuditLog(join(state, 'audit.jsonl'), Date.now);
const webhooks: WebhookRequest[] = [];
const script = `const text = ${JSON.stringify('long '.repeat(200))};`;

beforeAll(async () => {
  await mkdir(join(page, 'assets'));
  await writeFile(join(page, 'index.html'), '<!doctype html><title>page</title>');
  await writeFile(join(page, 'assets', 'app-Ab12Cd34.js'), script);
  http = await startHttp({
    pageDirectory: page,
    audit,
    webhooks: (request) => {
      webhooks.push(request);
      return request.body.toString() === 'good' ? { status: 202, message: '' } : { status: 401, message: 'forged' };
    },
  });
});
afterAll(async () => {
  await http.close();
  await audit.close();
});
beforeEach(() => void http.controller.asked.splice(0));

/** A controller of its own for a test. */
async function started(options?: Parameters<typeof startHttp>[0]): Promise<HttpHarness> {
  const own = await startHttp(options);
  onTestFinished(() => own.close());
  return own;
}

const view = { token: tokens.view };
const operate = { token: tokens.operate };
const refusal = (code: string, message: unknown) => ({ error: { code, message } });

describe('answers', () => {
  // containers.test.ts covers those that need a host.
  const read = endpoints.filter(
    ({ mode, method, id, path }) =>
      mode === 'json' && method === 'GET' && id !== 'object' && !path.startsWith('/api/v1/hosts/'),
  );
  test.each(read)('answers of GET $path have the form of the contract', async ({ path, ...row }) => {
    const { status, ...reply } = await http.ask(path.replace(':set', 'web'), row.access === 'operate' ? operate : view);
    expect(status).toBe(200);
    const result = 'result' in row ? row.result : undefined;
    expect(result).toBeDefined();
    if (result !== undefined) expect(validateBody(result, reply.json(), { unknownKeys: 'report' })).toEqual([]);
  });

  test('carry 10,000 objects at once, compressed on request', async () => {
    const own = await started();
    own.controller.items = Array.from({ length: 10_000 }, (_, index) => anObject(`c${index}`));
    const reply = await own.ask('/api/v1/sets/web/objects?limit=20000', view);
    expect(reply.json<{ objects: unknown[] }>().objects).toHaveLength(10_000);
    const packed = await new Promise<IncomingMessage>((resolve) => {
      const headers = { authorization: `Bearer ${tokens.view}`, 'accept-encoding': 'gzip' };
      httpRequest(`${own.listener.url}/api/v1/sets/web/objects?limit=20000`, { headers }, resolve).end();
    });
    const bytes = Buffer.concat(await packed.toArray());
    expect(packed.headers['content-encoding']).toBe('gzip');
    expect(bytes.length).toBeLessThan(reply.text.length / 5);
    expect(gunzipSync(bytes).toString()).toBe(reply.text);
  });

  test('come page by page', async () => {
    const first = await http.ask('/api/v1/sets/web/objects?limit=1', view);
    expect(first.json()).toMatchObject({ total: 2, next: '1', objects: [{ name: 'web1' }] });
    const second = await http.ask('/api/v1/sets/web/objects?limit=1&after=1', view);
    expect(second.json()).toEqual({ total: 2, objects: [anObject('web2')] });
  });

  test('pass requests of operators to the engine, with their name', async () => {
    const until = '2031-01-01T00:00:00Z';
    const reply = await http.ask('/api/v1/sets/web/suspend', {
      ...operate,
      body: { address: 'container/a', reason: 'r', until },
    });
    expect(reply.json()).toMatchObject({ id: 's1', set: 'web', reason: 'r', by: 'operateer' });
    expect(http.controller.asked).toEqual([
      { what: 'suspend', set: 'web', request: { address: 'container/a', reason: 'r', until }, by: 'operateer' },
    ]);
  });

  test('are described as OpenAPI, every path with its role', async () => {
    const document = (await http.ask('/openapi.json', view)).json<{ paths: Record<string, Record<string, object>> }>();
    for (const { id, path, method, access } of endpoints)
      expect(document.paths[path.replaceAll(/:(\w+)/g, '{$1}')]?.[method.toLowerCase()]).toMatchObject({
        operationId: id,
        'x-role': access,
      });
    const text = JSON.stringify(document);
    const references = [...text.matchAll(/"#\/components\/schemas\/(\w+)"/g)].map(([, name]) => name ?? '');
    expect(references.length).toBeGreaterThan(20);
    const { schemas } = JSON.parse(text).components;
    expect(references.filter((name) => !Object.hasOwn(schemas, name))).toEqual([]);
  });
});

describe('bad requests', () => {
  test.each<[string, string, unknown, RegExp]>([
    ['/api/v1/sets/web/suspend', 'no reason', {}, /reason is required/],
    ['/api/v1/sets/web/suspend', 'an unknown member', { reason: 'r', untill: 'x' }, /untill is not a known .*until/],
    ['/api/v1/sets/web/suspend', 'a path alone', { reason: 'r', path: 'config' }, /path without an address/],
    ['/api/v1/sets/web/suspend', 'no timestamp', { reason: 'r', until: 'tomorrow' }, /until must be a timestamp/],
    ['/api/v1/sets/web/sync', 'no JSON', '{', /not valid JSON/],
    ['/api/v1/sets/web/sync', 'a list', [], /must be an object/],
    ['/api/v1/sets/web/rollback', 'a number', { revision: 1, reason: 'r' }, /revision must be a string/],
  ])('of %s with %s are answered with every problem', async (path, _, body, message) => {
    const reply = await http.ask(path, { ...operate, body });
    expect(reply.status).toBe(400);
    expect(reply.json()).toMatchObject(refusal('bad-request', expect.stringMatching(message)));
    expect(http.controller.asked).toEqual([]);
  });

  test.each<[string, number, RegExp]>([
    ['/api/v1/sets/web/objects?limit=0', 400, /limit must be at least 1/],
    ['/api/v1/sets/web/objects?limit=many', 400, /limit must be an integer/],
    ['/api/v1/sets/web/objects?limitt=1', 400, /limitt is not a known member/],
    ['/api/v1/sets/web/objects?host=a&host=b', 400, /host must be a string/],
    ['/api/v1/sets/web/object?host=h1', 400, /needs host and address/],
    ['/api/v1/sets/web/object?host=h1&address=container/gone', 404, /no container\/gone on h1/],
    ['/api/v1/sets/nothing/objects', 404, /There is no set "nothing"/],
    ['/api/v1/sets/..%2f..%2fetc/objects', 404, /There is no set/],
    ['/api/v1/nothing', 404, /There is no GET/],
    ['/api/v1/sets/%E0%A4%A/objects', 400, /malformed/],
    [`/api/v1/sets/${'a'.repeat(400)}/objects`, 400, /max param length/],
    ['/api/v1/hosts/h1/containers/web1/console', 400, /needs a websocket/],
  ])('%s gets %i', async (path, status, message) => {
    const reply = await http.ask(path, operate);
    expect([reply.status, reply.json<ReturnType<typeof refusal>>().error.message]).toEqual([
      status,
      expect.stringMatching(message),
    ]);
  });

  test('bad requests with a form instead of JSON are refused: pages of other sites could send it', async () => {
    const headers = { 'content-type': 'text/plain' };
    expect((await http.ask('/api/v1/sets/web/sync', { ...operate, body: '{}', headers })).status).toBe(415);
    expect(http.controller.asked).toEqual([]);
  });

  test('bad requests with a huge body are refused before it is read', async () => {
    const asked = http.ask('/api/v1/sets/web/sync', { ...operate, body: { reason: 'x'.repeat(100_000) } });
    const status = await asked.then((reply) => reply.status).catch((error: NodeJS.ErrnoException) => error.code);
    expect([413, 'EPIPE', 'ECONNRESET']).toContain(status);
    expect(http.controller.asked).toEqual([]);
  });

  test('bad requests with a huge body in pieces are refused at the limit', async () => {
    const { hostname, port } = new URL(http.listener.url);
    const socket = connect(Number(port), hostname);
    const head = `POST /api/v1/webhooks/main HTTP/1.1\r\nhost: ${hostname}\r\ntransfer-encoding: chunked\r\n\r\n`;
    const text = await new Promise<string>((resolve) => {
      let answer = '';
      socket.on('data', (part: Buffer) => (answer += part.toString()));
      socket.on('error', () => {});
      socket.on('close', () => resolve(answer));
      socket.write(head);
      const piece = `10000\r\n${'x'.repeat(65_536)}\r\n`;
      const more = setInterval(() => (socket.destroyed ? clearInterval(more) : socket.write(piece)), 1);
    });
    expect(text).toContain('HTTP/1.1 413');
    expect(webhooks).toEqual([]);
  });

  test('internal errors are only described in the log', async () => {
    http.controller.broken = new Error('cannot open /root/secret');
    const reply = await http.ask('/api/v1/sets/web/object?host=h1&address=container/web1', view);
    http.controller.broken = undefined;
    expect(reply.status).toBe(500);
    expect(reply.text).not.toContain('secret');
    expect(http.logged.join('\n')).toContain('/api/v1/sets/web/object failed: cannot open /root/secret');
  });
});

describe('texts of others', () => {
  const evil = '<script>alert(1)</script><img src=x onerror=alert(1)>\u2028"\'';

  test('come as JSON that no browser takes for a page, with headers that let no foreign script run', async () => {
    const own = await started();
    own.controller.sets = [aSet(evil, { message: evil })];
    for (const path of [
      '/api/v1/overview',
      `/api/v1/sets/${encodeURIComponent(evil)}/objects`,
      `/api/v1/${encodeURIComponent(evil)}`,
      `/auth/ticket?ticket=${encodeURIComponent(evil)}`,
      '/auth/callback?error=%3Cscript%3E',
    ]) {
      const reply = await own.ask(path, view);
      expect(reply.headers['content-type'], path).toMatch(/^application\/json/);
      expect(reply.headers['x-content-type-options']).toBe('nosniff');
      const policy = String(reply.headers['content-security-policy']);
      expect(policy).toContain("default-src 'none'");
      expect(policy).toContain("frame-ancestors 'none'");
      expect(policy).not.toContain('unsafe');
    }
    expect((await own.ask('/api/v1/overview', view)).json()).toMatchObject({ sets: [{ message: evil }] });
  });

  test('cannot break out of their event, nor of a line of metrics', async () => {
    const own = await started();
    own.controller.sets = [aSet('a"} 1\nevil_metric{x="\\')];
    const stream = await listenTo(own);
    own.controller.emit({
      type: 'log',
      line: { at: '2030-01-31T12:00:00Z', level: 'info', message: `${evil}\n\ndata: {"type":"reset"}\n\n` },
    });
    await until(() => stream.events().length === 1);
    expect(stream.events()[0]).toMatchObject({
      type: 'log',
      line: { message: `${evil}\n\ndata: {"type":"reset"}\n\n` },
    });
    const metrics = (await own.ask('/metrics', view)).text;
    expect(metrics.split('\n').filter((line) => line.startsWith('evil_metric'))).toEqual([]);
    stream.end();
  });
});

interface Listening {
  readonly text: () => string;
  readonly events: () => readonly ControllerEvent[];
  readonly lastId: () => string;
  readonly isOver: () => boolean;
  readonly end: () => void;
}

function listenTo(own: HttpHarness, headers: Readonly<Record<string, string>> = {}): Promise<Listening> {
  let text = '';
  let isOver = false;
  const login = headers['cookie'] === undefined ? { authorization: `Bearer ${tokens.view}` } : {};
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      `${own.listener.url}/api/v1/events`,
      { headers: { ...login, ...headers } },
      (response) => {
        response.on('data', (part: Buffer) => (text += part.toString()));
        response.on('close', () => (isOver = true));
        response.on('error', () => {});
        const lines = (prefix: string) =>
          text
            .split('\n')
            .filter((line) => line.startsWith(prefix))
            .map((line) => line.slice(prefix.length));
        resolve({
          text: () => text,
          events: () => lines('data: ').map((line) => JSON.parse(line)),
          lastId: () => lines('id: ').at(-1) ?? '',
          isOver: () => isOver,
          end: () => request.destroy(),
        });
      },
    );
    request.on('error', reject);
    request.end();
  });
}

describe('the stream of events', () => {
  const changed = (status: 'synced' | 'drifted', name = 'web'): ControllerEvent => ({
    type: 'set',
    set: aSet(name, { status }),
  });

  test('gives every event to every listener', async () => {
    const listeners = await Promise.all([listenTo(http), listenTo(http)]);
    http.controller.emit(changed('drifted'));
    http.controller.emit({ type: 'run', operation: anOperation('web') });
    for (const { events, end } of listeners) {
      await until(() => events().length === 2);
      expect(events()).toEqual([changed('drifted'), { type: 'run', operation: anOperation('web') }]);
      end();
    }
  });

  test('continues after a lost connection with the missed events', async () => {
    const first = await listenTo(http);
    http.controller.emit(changed('drifted'));
    await until(() => first.events().length === 1);
    first.end();
    http.controller.emit(changed('synced'));
    const second = await listenTo(http, { 'last-event-id': first.lastId() });
    await until(() => second.events().length === 1);
    expect(second.events()).toEqual([changed('synced')]);
    second.end();
  });

  test.each(['0-0', 'abcdef01-99999', '', '-', '1e999-1e999'])(
    'says that events were lost when %j is not known',
    async (id) => {
      const stream = await listenTo(http, { 'last-event-id': id });
      await until(() => stream.text() !== '');
      expect(stream.events()).toEqual([expect.objectContaining({ type: 'reset' })]);
      stream.end();
    },
  );

  test('skips a listener that does not read, and notifies it later', async () => {
    const controller = new FakeController();
    const own = await started({ controller });
    const { hostname, port } = new URL(own.listener.url);
    const socket = connect(Number(port), hostname).pause();
    socket.write(`GET /api/v1/events HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${tokens.view}\r\n\r\n`);
    const metric = async () => /^gantry_event_listeners (\d+)$/m.exec((await own.ask('/metrics', view)).text)?.[1];
    await until(async () => (await metric()) === '1');
    const message = 'x'.repeat(100_000);
    const line = (): ControllerEvent => ({ type: 'log', line: { at: '2030-01-31T12:00:00Z', level: 'info', message } });
    const before = process.memoryUsage().arrayBuffers;
    for (let count = 0; count < 500; count += 1) controller.emit(line());
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(20_000_000);
    let text = '';
    socket.on('data', (part: Buffer) => (text += part.toString('latin1'))).resume();
    await until(() => text.includes('"type":"reset"'));
    expect(text.length).toBeLessThan(20_000_000);
    socket.destroy();
  });

  test('ends with the login of its listener, and limits listeners', async () => {
    const controller = new FakeController();
    const stream = new EventStream(controller, { listeners: 1, keptBytes: 1000, backlogBytes: 1000, heartbeatMs: 10 });
    let isAllowed = true;
    const server = createServer((request, response) => {
      try {
        stream.open(request, response, {}, { isAllowed: () => isAllowed, scope: () => undefined });
      } catch {
        response.writeHead(503).end();
      }
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const own = { listener: { url: `http://127.0.0.1:${port}` } } as HttpHarness;
    const first = await listenTo(own);
    await until(() => first.text().includes(': here'));
    const second = await listenTo(own);
    await until(() => second.isOver());
    expect(stream.size).toBe(1);
    isAllowed = false;
    await until(() => first.isOver());
    expect(stream.size).toBe(0);
    stream.close();
    server.close();
  });
});

describe('probes and metrics', () => {
  test('report whether the controller is alive, and whether it has compared its sets', async () => {
    expect((await http.ask('/healthz')).status).toBe(200);
    expect((await http.ask('/readyz')).status).toBe(200);
    http.controller.isNowReady = false;
    expect((await http.ask('/readyz')).status).toBe(503);
    expect((await http.ask('/healthz')).status).toBe(200);
    http.controller.isNowReady = true;
  });

  test('count sets, runs, drift, sources, hosts and requests', async () => {
    const own = await started();
    const { controller } = own;
    controller.sets = [aSet('web', { status: 'drifted', problems: ['x'] }), aSet('db')];
    const at = '2030-01-31T12:00:00Z';
    const drift = { id: 'd1', at, host: 'h1', address: 'container/a', paths: ['config.x'] };
    controller.emit({ type: 'drift', set: 'web', drift: { ...drift, action: 'healing' } });
    controller.emit({
      type: 'drift',
      set: 'web',
      drift: { ...drift, action: 'healed', healedAt: '2030-01-31T12:00:01.5Z' },
    });
    controller.emit({ type: 'run', operation: anOperation('web') });
    controller.emit({
      type: 'run',
      operation: anOperation('web', { status: 'done', endedAt: '2030-01-31T12:00:03Z' }),
    });
    const [source] = controller.overview().sources;
    if (source !== undefined) controller.emit({ type: 'source', source: { ...source, error: 'gone' } });
    await own.ask('/api/v1/overview');
    await own.ask('/api/v1/overview', { token: 'wrong' });
    const { text, headers } = await own.ask('/metrics', view);
    expect(headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
    const lines = text.split('\n');
    expect(lines).toEqual(
      expect.arrayContaining([
        'gantry_sets{status="drifted"} 1',
        'gantry_sets{status="synced"} 1',
        'gantry_sets{status="failed"} 0',
        'gantry_set_status{set="web",status="drifted"} 1',
        'gantry_set_problems{set="web"} 1',
        'gantry_set_objects{set="web",status="drifted"} 1',
        'gantry_set_last_sync_timestamp_seconds{set="web",host="h1"} 1896091200',
        'gantry_drift_detected_total{set="web"} 1',
        'gantry_drift_healed_total{set="web"} 1',
        'gantry_drift_heal_seconds_sum{set="web"} 1.5',
        'gantry_runs_total{set="web",kind="sync",outcome="done"} 1',
        'gantry_run_duration_seconds_sum{set="web",kind="sync"} 3',
        'gantry_source_up{source="main",kind="git"} 1',
        'gantry_source_checks_total{source="main",outcome="failed"} 1',
        'gantry_host_status{host="h1",status="online"} 1',
        'gantry_host_status{host="h1",status="offline"} 0',
        'gantry_controller_active 1',
        'gantry_http_requests_total{endpoint="overview",code="401"} 2',
        'gantry_logins_total{outcome="refused"} 1',
      ]),
    );
    expect(text).toContain('process_cpu_seconds_total');
  });
});

describe('webhooks', () => {
  test('reach their receiver byte by byte, without a login', async () => {
    webhooks.splice(0);
    const headers = { 'x-hub-signature-256': 'sha256=1' };
    const reply = await http.ask('/api/v1/webhooks/main', { method: 'POST', body: 'good', headers });
    expect(reply.status).toBe(202);
    expect(webhooks).toEqual([
      expect.objectContaining({ source: 'main', body: Buffer.from('good'), headers: expect.objectContaining(headers) }),
    ]);
    expect((await http.ask('/api/v1/webhooks/main', { method: 'POST', body: 'bad' })).json()).toEqual(
      refusal('unauthorized', 'forged'),
    );
  });
});

describe('the page', () => {
  test('is served for its views, without caching', async () => {
    for (const path of ['/', '/index.html', '/sets/web']) {
      const reply = await http.ask(path);
      expect(reply.text, path).toContain('<title>page</title>');
      expect(reply.headers).toMatchObject({ 'cache-control': 'no-cache', 'content-type': 'text/html; charset=utf-8' });
      const again = await http.ask(path, { headers: { 'if-none-match': String(reply.headers.etag) } });
      expect([again.status, again.text]).toEqual([304, '']);
    }
  });

  test('has compressed files that browsers cache', async () => {
    const reply = await http.ask('/assets/app-Ab12Cd34.js');
    expect(reply.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    expect(reply.text).toBe(script);
    const packed = await http.ask('/assets/app-Ab12Cd34.js', { headers: { 'accept-encoding': 'br, gzip' } });
    expect(packed.headers['content-encoding']).toBe('gzip');
    const plain = await http.ask('/assets/app-Ab12Cd34.js', { headers: { 'accept-encoding': 'gzip;q=0' } });
    expect(plain.headers['content-encoding']).toBeUndefined();
  });

  test.each([
    '/../view',
    '/assets/../../view',
    '/%2e%2e/view',
    '/assets/..%2f..%2fview',
    '//etc/passwd',
    '/assets/none.js',
    '/api/nothing',
    '/auth/nothing',
  ])('gives no file for %s', async (path) => {
    const reply = await http.ask(path);
    expect(reply.text).not.toContain(tokens.view);
    expect(reply.status === 404 || reply.text.includes('<title>page</title>')).toBe(true);
  });
});

test('an answer may take longer than a connection may be idle', async () => {
  const controller = new FakeController();
  const preview = controller.preview.bind(controller);
  controller.preview = async (...request) => {
    await new Promise((resolve) => setTimeout(resolve, 1500));
    return preview(...request);
  };
  const own = await started({ controller, patienceMs: 100 });
  expect((await own.ask('/api/v1/sets/web/preview', { ...operate, body: { ref: 'main' } })).status).toBe(200);
});

test('a client that sends its request slowly is given up, and others are answered meanwhile', async () => {
  const own = await started({ patienceMs: 500 });
  const { hostname, port } = new URL(own.listener.url);
  const sockets = Array.from({ length: 50 }, () => {
    const socket = connect(Number(port), hostname);
    socket.on('error', () => {});
    socket.write('GET /healthz HTTP/1.1\r\nhost: x\r\nx-slow: ');
    return socket;
  });
  expect((await own.ask('/healthz')).status).toBe(200);
  await until(() => sockets.every((socket) => socket.destroyed));
});
