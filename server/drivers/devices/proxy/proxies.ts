// Keeps the forwards of proxy devices open, by container and device, both in the kernel and in this process.
import { createHash } from 'node:crypto';
import { chmodSync, chownSync, closeSync, constants, existsSync, fstatSync, openSync, readFileSync } from 'node:fs';
import { posix } from 'node:path';
import { type Log, logFailure } from '../../../lib/log.ts';
import { runAll } from '../../../lib/run-all.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import { driverErrors } from '../../driver-error.ts';
import type { NftTables } from '../../nft-tables.ts';
import { listenStream, listenUdp, type Ends, type Listener } from './forward.ts';
import { endpointText, natRules, type Endpoint, type Forward, type ProxyRun } from './proxy-plan.ts';
import { loadSocketCalls, openConnector, openDirInside, openListener, removeSocketFile, type Side } from './sockets.ts';
import { succeeds } from '../../../lib/shared/attempt.ts';

type Calls = NonNullable<Awaited<ReturnType<typeof loadSocketCalls>>>;

export interface ProxyKeeper {
  /** Opens all forwards of the device, or throws a DriverError and opens none. `initPid`: of the running container. */
  open(container: string, run: ProxyRun, initPid: number): Promise<void>;
  /** Idempotent. */
  close(container: string, device: string): Promise<void>;
  closeAll(container: string): Promise<void>;
  /** After a crash: closes the forwards of containers that no longer run. */
  sweep(): Promise<void>;
  /** Closes everything in this process; forwards in the kernel continue. */
  release(): Promise<void>;
}

interface OpenProxy {
  close(): Promise<void>;
  readonly inKernel: boolean;
}

export interface ProxiesDeps {
  readonly log: Log;
  readonly tag: string;
  readonly tables: NftTables;
}

export class Proxies implements ProxyKeeper {
  readonly #log: Log;
  /** Part of names on the host that marks them as created by this daemon. */
  readonly #tag: string;
  readonly #open = new Map<string, Map<string, OpenProxy>>();
  readonly #tables: NftTables;

  constructor(deps: ProxiesDeps) {
    this.#log = deps.log;
    this.#tag = deps.tag;
    this.#tables = deps.tables;
  }

  async open(container: string, run: ProxyRun, initPid: number): Promise<void> {
    await this.close(container, run.device);
    const opened = run.nat ? await this.#openNat(container, run) : await this.#openAll(container, run, initPid);
    const devices = this.#open.get(container) ?? new Map<string, OpenProxy>();
    devices.set(run.device, opened);
    this.#open.set(container, devices);
  }

  /** One that cannot be closed stays known: the next attempt closes it. */
  async close(container: string, device: string): Promise<void> {
    const devices = this.#open.get(container);
    const opened = devices?.get(device);
    await opened?.close();
    if (devices?.get(device) === opened) devices?.delete(device);
  }

  closeAll(container: string): Promise<void> {
    const devices = [...(this.#open.get(container)?.keys() ?? [])];
    return runAll(devices.map((device) => () => this.close(container, device)));
  }

  async release(): Promise<void> {
    const all = [...this.#open.values()].flatMap((devices) => [...devices.values()]);
    this.#open.clear();
    await runAll(all.filter(({ inKernel }) => !inKernel).map((opened) => () => opened.close()));
  }

  sweep(): Promise<void> {
    return this.#tables.sweep(`gantry_proxy_${this.#tag}_`);
  }

  #table(container: string, device: string): string {
    const hash = createHash('sha256').update(`${container}/${device}`).digest('hex').slice(0, 12);
    return `inet gantry_proxy_${this.#tag}_${hash}`;
  }

  async #openNat(container: string, run: ProxyRun): Promise<OpenProxy> {
    const table = this.#table(container, run.device);
    await this.#tables.set(`proxy ${run.device}: cannot forward in the kernel`, [table], natRules(run, table));
    const close = () => this.#tables.remove(`proxy ${run.device}: the kernel still forwards`, [table]);
    return { inKernel: true, close };
  }

  async #openAll(container: string, run: ProxyRun, initPid: number): Promise<OpenProxy> {
    const calls = await loadSocketCalls();
    if (calls === undefined) throw driverErrors.notSupported(`proxy ${run.device} needs koffi (npm) on this host`);
    const opened: Listener[] = [];
    const close = (): Promise<void> => runAll(opened.splice(0).map((listener) => () => listener.close()));
    try {
      for (const forward of run.forwards) opened.push(await this.#openOne(calls, container, run, forward, initPid));
    } catch (error) {
      await close().catch(logFailure(this.#log, `Closing the proxy ${run.device}, which could not be opened,`));
      throw driverErrors.failed(`proxy ${run.device}`, error);
    }
    return { inKernel: false, close };
  }

  async #openOne(calls: Calls, container: string, run: ProxyRun, forward: Forward, initPid: number): Promise<Listener> {
    const { listen, connect } = forward;
    const [near, far] = run.bind === 'host' ? [undefined, initPid] : [initPid, undefined];
    const ends: Ends = {
      connector: () => openConnector(calls, { ...sideOf(far, run.runAs), overrides: run.runAs.uid === 0 }, connect),
      connect,
      proxyProtocol: run.proxyProtocol,
      failed: (error) =>
        this.#log.debug('the other end of a forward does not listen', {
          container,
          device: run.device,
          connect: endpointText(connect),
          reason: errorText(error),
        }),
    };
    const removeFile = prepareFile(calls, near, listen);
    // A file is created by the container's root; ports below 1024 are closed to that user.
    const side = isFile(listen) ? sideOf(near, { uid: 0, gid: 0 }) : { pid: near, uid: 0, gid: 0 };
    const fd = openListener(calls, side, listen);
    let listener: Listener;
    try {
      setOwnerOfSocket(calls, near, listen, run.socket);
      listener = listen.kind === 'udp' ? listenUdp(fd, listen.host, ends) : await listenStream(fd, ends);
    } catch (error) {
      closeSync(fd);
      removeFile();
      throw error;
    }
    return {
      close: async () => {
        await listener.close();
        removeFile();
      },
    };
  }
}

/** Ids inside a container differ from those on the host. */
function sideOf(pid: number | undefined, ids: { readonly uid: number; readonly gid: number }): Side {
  if (pid === undefined) return { pid, ...ids };
  return { pid, uid: hostId(pid, 'uid', ids.uid), gid: hostId(pid, 'gid', ids.gid) };
}

export function hostId(pid: number, kind: 'uid' | 'gid', id: number): number {
  for (const line of readFileSync(`/proc/${pid}/${kind}_map`, 'utf8').split('\n')) {
    const [inside = 0, outside = 0, count = 0] = line.trim().split(/\s+/).map(Number);
    if (id >= inside && id < inside + count) return outside + (id - inside);
  }
  throw driverErrors.invalid(`The container has no ${kind} ${id}`);
}

const isFile = (endpoint: Endpoint): endpoint is Endpoint & { readonly kind: 'unix' } =>
  endpoint.kind === 'unix' && !endpoint.path.startsWith('@');

/** Removes a socket that a killed daemon left; returns the function that removes the new one. */
function prepareFile(calls: Calls, pid: number | undefined, listen: Endpoint): () => void {
  if (!isFile(listen)) return () => {};
  atFile(calls, pid, listen.path, (path) => {
    if (existsSync(path) && answers(calls, pid, listen)) {
      throw driverErrors.inUse(`Somebody listens on ${endpointText(listen)} already`);
    }
    removeSocketFile(path);
  });
  return () => {
    try {
      atFile(calls, pid, listen.path, removeSocketFile);
    } catch {
      // The container has ended, and its file with it, or its next start replaces the file.
    }
  };
}

const answers = (calls: Calls, pid: number | undefined, endpoint: Endpoint): boolean =>
  succeeds(() => closeSync(openConnector(calls, sideOf(pid, { uid: 0, gid: 0 }), endpoint)));

function setOwnerOfSocket(calls: Calls, pid: number | undefined, listen: Endpoint, wanted: ProxyRun['socket']): void {
  if (!isFile(listen)) return;
  const { uid, gid } = sideOf(pid, wanted);
  atFile(calls, pid, listen.path, (path) => {
    // Held by a descriptor: a container may replace it with a link.
    const held = openSync(path, 0o10000000 | constants.O_NOFOLLOW);
    try {
      if (!fstatSync(held).isSocket()) throw driverErrors.failed(`${listen.path} is no longer a socket`);
      chownSync(`/proc/self/fd/${held}`, uid, gid);
      if (wanted.mode !== undefined) chmodSync(`/proc/self/fd/${held}`, wanted.mode);
    } finally {
      closeSync(held);
    }
  });
}

/** A container's file is opened through its directory, so that no link of the container can redirect it. */
function atFile(calls: Calls, pid: number | undefined, path: string, work: (path: string) => void): void {
  if (pid === undefined) {
    work(path);
    return;
  }
  const dir = openDirInside(calls, pid, posix.dirname(path));
  try {
    work(`/proc/self/fd/${dir}/${posix.basename(path)}`);
  } finally {
    closeSync(dir);
  }
}
