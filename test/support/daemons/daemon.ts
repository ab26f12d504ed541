// Starts the real daemon on a separate directory and sends requests over its socket, byte by byte as a client would; leftovers of a
// test (containers, bridges, mounts) are removed.
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { request as httpRequest, type IncomingHttpHeaders, type OutgoingHttpHeaders } from 'node:http';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import type { Readable } from 'node:stream';
import { WebSocket } from 'ws';
import type { Event } from '../../../server/api/event.ts';
import type { Operation } from '../../../server/api/operation.ts';
import { startDaemon } from '../../../server/daemon/daemon.ts';
import type { Daemon, DaemonOptions } from '../../../server/daemon/daemon-options.ts';
import type { SimNetwork } from '../../../server/drivers/network/sim.ts';
import type { SimRuntime } from '../../../server/drivers/runtime/sim/sim.ts';
import { openHostDrivers, type HostDrivers } from '../../../server/daemon/host-drivers.ts';
import type { Log } from '../../../server/lib/log.ts';
import { busyboxMissing } from '../images/busybox-rootfs.ts';

/** JSON of the wire. Tests access it freely; its shape is asserted where it matters. */
// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any;

export interface Answer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly bytes: Buffer;
  /** The parsed body; undefined when there is none or it is not JSON. */
  readonly body: Json;
  /** `metadata` of the envelope. */
  readonly metadata: Json;
}

export type Sent = string | Buffer | Readable | object | undefined;

export interface Wire {
  readonly socketPath: string;
}

/** The limit names a request that hangs, before the limit of the test ends all of it without a word. */
const answerMs = 400_000;

export function call(
  wire: Wire,
  method: string,
  path: string,
  body?: Sent,
  headers: OutgoingHttpHeaders = {},
): Promise<Answer> {
  const isStream = typeof body === 'object' && body !== null && 'pipe' in body;
  const isRaw = typeof body === 'string' || Buffer.isBuffer(body);
  const bytes =
    body === undefined || isStream ? undefined : Buffer.from(isRaw ? (body as string) : JSON.stringify(body));
  const type = isRaw || isStream || body === undefined ? {} : { 'content-type': 'application/json' };
  const length = bytes === undefined ? {} : { 'content-length': bytes.length };
  return new Promise((resolve, reject) => {
    const request = httpRequest(
      { socketPath: wire.socketPath, method, path, agent: false, headers: { ...type, ...length, ...headers } },
      (response) => {
        collect(response).then(
          (read) => resolve(answerOf(response.statusCode ?? 0, response.headers, read)),
          (error: unknown) => reject(error as Error),
        );
      },
    );
    const hangs = setTimeout(() => {
      request.destroy(new Error(`${method} ${path} was not answered in ${answerMs / 1000} s`));
    }, answerMs).unref();
    request.once('close', () => clearTimeout(hangs));
    request.on('error', reject);
    // If the server answered before reading the body, sending would fail and the answer would be lost.
    if (headers['expect'] === '100-continue') request.once('continue', () => request.end(bytes));
    else if (isStream) body.pipe(request);
    else request.end(bytes);
  });
}

export async function collect(stream: Readable): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream as AsyncIterable<Buffer>) chunks.push(chunk);
  return Buffer.concat(chunks);
}

export function answerOf(status: number, headers: IncomingHttpHeaders, bytes: Buffer): Answer {
  const isJson = (headers['content-type'] ?? '').startsWith('application/json');
  const body: Json = isJson && bytes.length > 0 ? JSON.parse(bytes.toString('utf8')) : undefined;
  return { status, headers, bytes, body, metadata: body?.metadata };
}

export interface Listening {
  readonly events: Event[];
  /** The first matching event, of earlier or later ones. */
  next(fits: (event: Event) => boolean, timeoutMs?: number): Promise<Event>;
  readonly socket: WebSocket;
  close(): void;
}

export interface TestDaemon extends Wire {
  readonly dir: string;
  readonly daemon: Daemon;
  readonly host: HostDrivers;
  /** The simulated parts; throws on a real runtime. */
  readonly sim: SimRuntime;
  readonly simNetwork: SimNetwork;
  readonly logged: string[];
  /** Sends a line to the listeners of logging events. */
  publish(message: string): void;
  call(method: string, path: string, body?: Sent, headers?: OutgoingHttpHeaders): Promise<Answer>;
  get(path: string): Promise<Json>;
  /** Sends, expects 202, waits for the end and returns the ended operation. */
  run(method: string, path: string, body?: Sent, headers?: OutgoingHttpHeaders): Promise<Operation>;
  /** The same, and the operation must succeed. */
  ok(method: string, path: string, body?: Sent, headers?: OutgoingHttpHeaders): Promise<Operation>;
  wait(operation: string): Promise<Operation>;
  listen(types?: string): Promise<Listening>;
  /** Stops and starts again on the same directory. */
  restart(between?: () => void | Promise<void>): Promise<void>;
  stop(): Promise<void>;
  /** Stops and removes everything. */
  cleanUp(): Promise<void>;
}

export type TestDaemonOptions = Partial<
  Pick<
    DaemonOptions,
    'runtime' | 'https' | 'lxd' | 'time' | 'remoteLimits' | 'etcd' | 'clusterStore' | 'etcdPath' | 'unprivilegedOnly'
  >
> & {
  readonly dir?: string;
  /** Another release, asked at each start. */
  readonly releaseNow?: () => string;
  /** Other drivers, or the host's with other properties. */
  readonly adapt?: (host: HostDrivers) => HostDrivers | Promise<HostDrivers>;
};

export async function makeDaemon(options: TestDaemonOptions = {}): Promise<TestDaemon> {
  const dir = options.dir ?? (await mkdtemp(join(await realpath(tmpdir()), 'gtya-')));
  const runtime = options.runtime ?? 'sim';
  // GANTRY_TEST_ETCD=HOST:PORT runs any test of daemons on an etcd instead of SQLite.
  const shared = process.env['GANTRY_TEST_ETCD'];
  const etcd = options.etcd ?? (shared === undefined ? undefined : { address: `etcd://${shared}/${basename(dir)}` });
  const logged: string[] = [];
  let publish: (message: string) => void = () => {};
  let host: HostDrivers | undefined;
  let daemon: Daemon | undefined;
  const sockets = new Set<WebSocket>();
  const start = async (): Promise<void> => {
    daemon = await startDaemon({
      stateDir: dir,
      runtime,
      ...(options.https === undefined ? {} : { https: options.https }),
      ...(options.lxd === undefined ? {} : { lxd: options.lxd }),
      ...(options.time === undefined ? {} : { time: options.time }),
      ...(options.remoteLimits === undefined ? {} : { remoteLimits: options.remoteLimits }),
      ...(etcd === undefined ? {} : { etcd }),
      ...(options.clusterStore === undefined ? {} : { clusterStore: options.clusterStore }),
      ...(options.releaseNow === undefined ? {} : { release: options.releaseNow() }),
      ...(options.etcdPath === undefined ? {} : { etcdPath: options.etcdPath }),
      ...(options.unprivilegedOnly === undefined ? {} : { unprivilegedOnly: options.unprivilegedOnly }),
      log: loggingTo(logged),
      drivers: async (given) => {
        publish = (message) => given.log.info(message);
        const opened = await openHostDrivers(given);
        host = (await options.adapt?.(opened)) ?? opened;
        return host;
      },
    });
  };
  const socketPath = join(dir, 'unix.socket');
  const stop = async (): Promise<void> => {
    for (const socket of sockets) socket.terminate();
    sockets.clear();
    const running = daemon;
    daemon = undefined;
    await running?.stop();
  };
  const self: TestDaemon = {
    dir,
    socketPath,
    logged,
    publish: (message) => publish(message),
    get daemon() {
      return need(daemon);
    },
    get host() {
      return need(host);
    },
    get sim() {
      const { runtime: driver } = need(host);
      if (driver.name !== 'sim') throw new Error('this daemon runs real containers');
      return driver as SimRuntime;
    },
    get simNetwork() {
      return need(host).network as SimNetwork;
    },
    call: (...args) => call({ socketPath }, ...args),
    async get(path) {
      const answer = await self.call('GET', path);
      if (answer.status !== 200) throw new Error(`GET ${path} answered ${answer.status}: ${answer.bytes.toString()}`);
      return answer.metadata;
    },
    async run(method, path, body, headers) {
      const answer = await self.call(method, path, body, headers);
      if (answer.status !== 202) {
        throw new Error(`${method} ${path} answered ${answer.status}: ${answer.bytes.toString()}`);
      }
      return self.wait(answer.body.operation as string);
    },
    async ok(method, path, body, headers) {
      const operation = await self.run(method, path, body, headers);
      if (operation.status !== 'Success')
        throw new Error(`${method} ${path} ended as ${operation.status}: ${operation.err}`);
      return operation;
    },
    wait: async (operation) => (await self.get(`${operation}/wait`)) as Operation,
    async listen(types) {
      const listening = await listenOn(
        `ws+unix://${socketPath}:/1.0/events${types === undefined ? '' : `?type=${types}`}`,
      );
      sockets.add(listening.socket);
      return listening;
    },
    async restart(between) {
      await stop();
      await between?.();
      await start();
    },
    stop,
    async cleanUp() {
      if (daemon === undefined && runtime === 'lxc') await start();
      if (daemon !== undefined && runtime === 'lxc') await emptyOut(self);
      await stop();
      await removeState(dir);
    },
  };
  await start().catch(async (error: unknown) => {
    if (options.dir === undefined) await removeState(dir);
    throw error;
  });
  return self;
}

/** Starts one, runs the test, and always cleans up. */
export async function withDaemon(
  options: TestDaemonOptions,
  work: (daemon: TestDaemon) => Promise<void>,
): Promise<void> {
  const daemon = await makeDaemon(options);
  try {
    await work(daemon);
  } finally {
    await daemon.cleanUp();
  }
}

/** Pool and profile `default`, which nearly every test needs. */
export async function seed(daemon: Pick<TestDaemon, 'call'>, more: Record<string, object> = {}): Promise<void> {
  await expectDone(daemon.call('POST', '/1.0/storage-pools', { name: 'default', driver: 'dir' }));
  const root = { type: 'disk', path: '/', pool: 'default' };
  await expectDone(daemon.call('PUT', '/1.0/profiles/default', { devices: { root, ...more } }));
}

/** A daemon with pool and profile `default`. */
export async function makeSeeded(options: TestDaemonOptions = {}): Promise<TestDaemon> {
  const daemon = await makeDaemon(options);
  await seed(daemon);
  return daemon;
}

async function expectDone(answer: Promise<Answer>): Promise<void> {
  const { status, bytes } = await answer;
  if (status >= 300) throw new Error(`setting up failed with ${status}: ${bytes.toString()}`);
}

export const emptySource = { type: 'none' } as const;

export function createContainer(daemon: TestDaemon, name: string, more: object = {}): Promise<Operation> {
  return daemon.ok('POST', '/1.0/containers', { name, source: emptySource, ...more });
}

export const setState = (daemon: TestDaemon, name: string, action: string, more: object = {}): Promise<Operation> =>
  daemon.run('PUT', `/1.0/containers/${name}/state`, { action, ...more });

export const statusOf = async (daemon: TestDaemon, name: string): Promise<string> =>
  (await daemon.get(`/1.0/containers/${name}`)).status;

export async function listenOn(url: string, options: object = {}): Promise<Listening> {
  const socket = new WebSocket(url, { ...options });
  const events: Event[] = [];
  const waiting = new Set<() => void>();
  socket.on('message', (data: Buffer) => {
    events.push(JSON.parse(data.toString('utf8')) as Event);
    for (const look of waiting) look();
  });
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve);
    socket.once('error', reject);
  });
  socket.on('error', () => {});
  return {
    events,
    socket,
    next: (fits, timeoutMs = 30_000) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(look);
          reject(
            new Error(
              `no such event in ${timeoutMs} ms; seen: ${JSON.stringify(events.map((event) => event.metadata))}`,
            ),
          );
        }, timeoutMs);
        function look(): void {
          const found = events.find(fits);
          if (found === undefined) return;
          clearTimeout(timer);
          waiting.delete(look);
          resolve(found);
        }
        waiting.add(look);
        look();
      }),
    close: () => socket.terminate(),
  };
}

export const lifecycleOf = (event: Event): { action: string; source: string; context?: Json } =>
  event.type === 'lifecycle' ? (event.metadata as { action: string; source: string }) : { action: '', source: '' };

/** The reason why a daemon cannot run real containers here; undefined if it can. Printed once per test file. */
export async function realRuntimeMissing(): Promise<string | undefined> {
  const { lxcAvailable } = await import('../../../server/drivers/runtime/lxc/host.ts');
  const { bridgeAvailable } = await import('../../../server/drivers/network/bridge.ts');
  const lxc = await lxcAvailable();
  const bridge = lxc.ok ? await bridgeAvailable() : lxc;
  const missing = bridge.ok ? busyboxMissing() : bridge.reason;
  if (missing !== undefined) console.log(`skipped: tests of the daemon with real containers: ${missing}`);
  return missing;
}

/** Stops the daemon, removes everything, and fails if anything of it is left on the host. */
export async function leaveNothing(daemon: TestDaemon | undefined): Promise<void> {
  await daemon?.cleanUp();
  const remains = daemon === undefined ? [] : hostRemains(daemon.dir);
  if (remains.length > 0) throw new Error(`left on the host:\n${remains.join('\n')}`);
}

/** Mounts and veths of this directory that still exist. */
export function hostRemains(dir: string): string[] {
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .filter((line) => line.includes(` ${dir}/`));
  return mounts;
}

async function emptyOut(daemon: TestDaemon): Promise<void> {
  const projects = ((await daemon.get('/1.0/projects?recursion=1')) as Json[]).map(({ name }) => name as string);
  const lists = await Promise.all(projects.map((name) => daemon.get(`/1.0/containers?project=${name}`)));
  const urls = lists.flat() as string[];
  await Promise.all(
    urls.map(async (url) => {
      const stateUrl = url.replace(/(\?|$)/, '/state$1');
      await daemon.run('PUT', stateUrl, { action: 'stop', force: true }).catch(() => {});
      await daemon.call('PATCH', url, { config: { 'security.protection.delete': '' } });
      await daemon.run('DELETE', url).catch(() => {});
    }),
  );
  const networks = (await daemon.get('/1.0/networks?recursion=1')) as Json[];
  for (const { name } of networks.filter((network) => network.managed === true)) {
    for (const user of (await daemon.get(`/1.0/networks/${name}`)).used_by as string[]) {
      await daemon.call('PUT', user, {});
    }
    await daemon.call('DELETE', `/1.0/networks/${name}`);
  }
}

async function removeState(dir: string): Promise<void> {
  for (const line of hostRemains(dir)) {
    const target = line.split(' ')[4];
    if (target !== undefined && existsSync(target)) execFileSync('umount', ['-l', target], { stdio: 'ignore' });
  }
  await rm(dir, { recursive: true, force: true });
}

/** Leaves out the lines of requests. */
function loggingTo(lines: string[]): Log {
  const write = (level: string) => (message: string) => void lines.push(`${level}: ${message}`);
  const request = 'Handling a request';
  const debug = (message: string): void => void (message === request || lines.push(`debug: ${message}`));
  return { debug, info: write('info'), warn: write('warning'), error: write('error') };
}

function need<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('the daemon does not run');
  return value;
}
