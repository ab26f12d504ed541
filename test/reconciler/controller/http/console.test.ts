// Consoles in the browser, over a real daemon on the simulation: bytes, sizes, ends, and who may open one.
import type { IncomingMessage } from 'node:http';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { WebSocket } from 'ws';
import type { AuditLog } from '../../../../reconciler/controller/audit/audit-log.ts';
import { createClient, type Client } from '../../../../server/client/client.ts';
import { FakeController } from '../../../support/controller/fake-controller.ts';
import { logIn, startHttp, tokens, type HttpHarness } from '../../../support/controller/http-harness.ts';
import { createContainer, makeSeeded, setState, type TestDaemon } from '../../../support/daemons/daemon.ts';
import { until } from '../../../support/until.ts';

let daemon: TestDaemon;
let client: Client;
let http: HttpHarness;
beforeAll(async () => {
  daemon = await makeSeeded();
  await createContainer(daemon, 'c1');
  await createContainer(daemon, 'still');
  await setState(daemon, 'c1', 'start');
  client = createClient(`unix://${daemon.socketPath}`);
  const connect = (host: string) =>
    host === 'h1' ? Promise.resolve(client) : Promise.reject(new Error(`there is no host ${host}`));
  http = await startHttp({ console: true, controller: new FakeController(connect) });
});
afterAll(async () => {
  await http.close();
  await client.close();
  await daemon.cleanUp();
});

interface Terminal {
  readonly socket: WebSocket;
  readonly text: () => string;
  readonly notes: unknown[];
  readonly closed: () => number | undefined;
}

type Headers = Readonly<Record<string, string>>;
const operate: Headers = { authorization: `Bearer ${tokens.operate}` };
const pathOf = (name: string, query = '', host = 'h1') => `/api/v1/hosts/${host}/containers/${name}/console${query}`;

/** Opens a console, or returns the status of the refusal. */
function open(path: string, headers: Headers = operate, own: HttpHarness = http): Promise<Terminal | number> {
  const socket = new WebSocket(`${own.listener.url.replace(/^http/, 'ws')}${path}`, { headers });
  let text = '';
  let closed: number | undefined;
  const notes: unknown[] = [];
  socket.on('message', (data: Buffer, isBinary: boolean) => {
    if (isBinary) text += data.toString('latin1');
    else notes.push(JSON.parse(data.toString()));
  });
  socket.on('close', (code) => (closed = code));
  return new Promise((resolve, reject) => {
    socket.on('error', reject);
    socket.on('unexpected-response', (_request, response: IncomingMessage) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    socket.on('open', () => resolve({ socket, text: () => text, notes, closed: () => closed }));
  });
}

async function opened(path: string, headers: Headers = operate, own: HttpHarness = http): Promise<Terminal> {
  const terminal = await open(path, headers, own);
  if (typeof terminal === 'number') throw new Error(`the console was refused: ${terminal}`);
  return terminal;
}

describe('a console', () => {
  test('runs a command in the container with input, sizes and exit code', async () => {
    const { socket, text, notes, closed } = await opened(pathOf('c1', '?command=sh&width=90&height=30'));
    socket.send(Buffer.from('stty size\r'));
    await until(() => text().includes('30 90\r\n'));
    await until(() => {
      socket.send(JSON.stringify({ width: 100, height: 40 }));
      socket.send(Buffer.from('stty size\r'));
      return text().includes('40 100\r\n');
    });
    socket.send(Buffer.from('exit 3\r'));
    await until(() => closed() !== undefined);
    expect([closed(), notes]).toEqual([1000, [{ exit: 3 }]]);
    expect(http.logged).toEqual(expect.arrayContaining(['operateer: a console of c1 on h1 opens']));
  });

  test('buffers input while the audit log is written', async () => {
    const add = () => new Promise<string>((resolve) => setTimeout(resolve, 300, 'noted'));
    const audit = { add } as unknown as AuditLog;
    const connect = () => Promise.resolve(client);
    const slow = await startHttp({ console: true, controller: new FakeController(connect), audit });
    onTestFinished(() => slow.close());
    const { socket, closed, notes } = await opened(pathOf('c1', '?command=sh'), operate, slow);
    socket.send(Buffer.from('exit 4\r'));
    await until(() => closed() !== undefined);
    expect(notes).toEqual([{ exit: 4 }]);
  });

  test('attaches to the console of the container', async () => {
    const { socket, closed } = await opened(pathOf('c1'));
    socket.send(Buffer.from('\r'));
    socket.send('{"width": "wide"}');
    socket.send('no JSON');
    socket.close();
    await until(() => closed() !== undefined);
  });

  test('ends its command when the browser goes away', async () => {
    const running = async (): Promise<number> => {
      const operations: readonly { readonly status_code: number }[] = await daemon.get('/1.0/operations?recursion=1');
      return operations.filter((operation) => operation.status_code < 200).length;
    };
    await until(async () => (await running()) === 0);
    const command = encodeURIComponent('echo be""gun; exec sleep 600');
    const { socket, text } = await opened(pathOf('c1', `?command=${command}`));
    await until(() => text().includes('begun'));
    expect(await running()).toBe(1);
    socket.terminate();
    await until(async () => (await running()) === 0);
  });

  test.each([
    ['still', '?command=sh', 'h1', /not running|Stopped|running/i],
    ['none', '?command=sh', 'h1', /none/],
    ['c1', '?command=sh', 'h9', /no host h9/],
    ['..%2F..%2Fimages', '?command=sh', 'h1', /./],
  ])('of %s%s on %s reports why it cannot open', async (name, query, host, message) => {
    const { notes, closed } = await opened(pathOf(name, query, host));
    await until(() => closed() !== undefined);
    expect(closed()).toBe(1011);
    expect(notes).toEqual([{ error: expect.stringMatching(message) }]);
  });
});

test('consoles that open at the same time are no more than 64', async () => {
  const connect = () => new Promise<Client>(() => {});
  // Each request reads the files of the tokens again, so that several are admitted at once.
  let nowMs = Date.now();
  const nextMs = () => (nowMs += 10_000);
  const own = await startHttp({ console: true, controller: new FakeController(connect), nowMs: nextMs });
  onTestFinished(() => own.close());
  const all = await Promise.all(Array.from({ length: 200 }, () => open(pathOf('c1'), operate, own)));
  const places = all.filter((one) => typeof one !== 'number');
  expect([places.length, all.filter((one) => one === 503).length]).toEqual([64, 136]);
  for (const { socket } of places) socket.terminate();
});

test('a silent console is pinged, so that it ends when its browser vanished', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const { socket, closed } = await opened(pathOf('c1', '?command=sh'));
  let pings = 0;
  socket.on('ping', () => (pings += 1));
  await vi.advanceTimersByTimeAsync(60_000);
  vi.useRealTimers();
  await until(() => pings > 0);
  socket.close();
  await until(() => closed() !== undefined);
});

test('a console ends when the configuration takes away the grant for it, or all consoles', async () => {
  const connect = () => Promise.resolve(client);
  for (const takeAway of ['grant', 'consoles'] as const) {
    const grants: { users: string[]; rights: ['console'] }[] = [{ users: ['viewer'], rights: ['console'] }];
    const own = await startHttp({ console: true, grants, controller: new FakeController(connect) });
    onTestFinished(() => own.close());
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
    onTestFinished(() => void vi.useRealTimers());
    const viewer = { authorization: `Bearer ${tokens.view}` };
    const { socket } = await opened(pathOf('c1', '?command=sh'), viewer, own);
    let why: string | undefined;
    socket.on('close', (_code, reason) => (why = reason.toString()));
    await vi.advanceTimersByTimeAsync(60_000);
    expect(socket.readyState).toBe(WebSocket.OPEN);
    if (takeAway === 'grant') grants.length = 0;
    else {
      const known = { name: 'viewer', role: 'view', file: join(own.directory, 'view') } as const;
      (await own.listener.prepare({ console: false, trustedProxies: [], auth: { tokens: [known], grants } }))();
    }
    await vi.advanceTimersByTimeAsync(60_000);
    vi.useRealTimers();
    await until(() => why !== undefined);
    expect(why).toBe('the right to consoles has ended');
  }
});

describe('a console is refused', () => {
  test.each<[string, number, Headers]>([
    ['without a login', 401, {}],
    ['to the role view', 403, { authorization: `Bearer ${tokens.view}` }],
    ['to a wrong token', 401, { authorization: 'Bearer wrong-wrong-wrong-wrong' }],
  ])('%s', async (_, status, headers) => {
    const own = await startHttp({ console: true, anonymous: 'view' });
    expect(await open(pathOf('c1'), headers, own)).toBe(status);
    await own.close();
  });

  test('to pages of other sites, and to none at all without an origin', async () => {
    const { cookie, csrf } = await logIn(http, tokens.operate);
    expect(await open(pathOf('c1'), { cookie, origin: 'https://evil.test' })).toBe(403);
    expect(await open(pathOf('c1'), { cookie, origin: 'null' })).toBe(403);
    expect(await open(pathOf('c1'), { cookie })).toBe(403);
    const own = await opened(pathOf('c1', '?command=true'), { cookie, origin: http.listener.url });
    await until(() => own.closed() !== undefined);
    const program = await opened(pathOf('c1', '?command=true'), { cookie, 'x-csrf-token': csrf });
    await until(() => program.closed() !== undefined);
  });

  test('where the configuration does not allow any', async () => {
    const own = await startHttp();
    expect(await open(pathOf('c1'), operate, own)).toBe(403);
    await own.close();
  });

  test.each([
    ['/api/v1/events', 404],
    ['/', 404],
    ['/api/v1/hosts/h1/containers/c1/consolex', 404],
    [pathOf('c1', '?width=0'), 400],
    [pathOf('c1', '?widht=80'), 400],
    [pathOf('%E0%A4%A'), 400],
  ])('at %s with %i', async (path, status) => expect(await open(path)).toBe(status));
});
