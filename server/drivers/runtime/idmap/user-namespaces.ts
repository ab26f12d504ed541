// Keeps user namespaces with given id maps, as open descriptors for idmapped mounts. No process stays in them.
import { spawn } from 'node:child_process';
import { closeSync, openSync, readlinkSync, writeFileSync } from 'node:fs';
import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import { driverErrors } from '../../driver-error.ts';
import type { IdMapEntry } from '../driver.ts';
import { startFailure } from '../host/posix-spawn.ts';
import { programEnv } from '../../../lib/program-env.ts';

/** More than concurrent starts. Isolated containers have a map each. */
const max = 32;

export class UserNamespaces {
  readonly #fds = new Map<string, Promise<number>>();

  /** A descriptor of a namespace with this map; use it before awaiting anything else: it is closed once many other maps were requested. A
   *  mount made through it keeps the namespace by itself. */
  async fdOf(map: readonly IdMapEntry[]): Promise<number> {
    const key = JSON.stringify(map);
    const made = this.#fds.get(key) ?? makeNamespace(map);
    // Moves it to the end: most recently used last.
    this.#fds.delete(key);
    this.#fds.set(key, made);
    made.catch(() => this.#fds.delete(key));
    this.#closeOldest();
    return made;
  }

  #closeOldest(): void {
    const [oldest] = this.#fds;
    if (this.#fds.size <= max || oldest === undefined) return;
    this.#fds.delete(oldest[0]);
    oldest[1].then(closeSync, () => {});
  }

  async close(): Promise<void> {
    const open = [...this.#fds.values()];
    this.#fds.clear();
    for (const fd of await Promise.allSettled(open)) if (fd.status === 'fulfilled') closeSync(fd.value);
  }
}

export function kernelMap(map: readonly IdMapEntry[], kind: 'uid' | 'gid'): string {
  return map
    .filter((entry) => (kind === 'uid' ? entry.isuid : entry.isgid))
    .map((entry) => `${entry.nsid} ${entry.hostid} ${entry.maprange}\n`)
    .join('');
}

async function makeNamespace(map: readonly IdMapEntry[]): Promise<number> {
  const own = readlinkSync('/proc/self/ns/user');
  const holder = spawn('unshare', ['--user', 'cat'], { stdio: ['pipe', 'ignore', 'ignore'], env: programEnv });
  const ended = new Promise<NodeJS.ErrnoException | undefined>((resolve) =>
    holder.on('exit', () => resolve(undefined)).on('error', resolve),
  );
  holder.stdin.on('error', () => {});
  try {
    const { pid } = holder;
    if (pid === undefined) throw startFailure('unshare', -((await ended)?.errno ?? -constants.errno.ENOENT));
    for (let tries = 0; readlinkSync(`/proc/${pid}/ns/user`) === own; tries++) {
      if (tries > 2000) throw new Error('unshare made no user namespace');
      await sleep(1);
    }
    writeFileSync(`/proc/${pid}/uid_map`, kernelMap(map, 'uid'));
    writeFileSync(`/proc/${pid}/gid_map`, kernelMap(map, 'gid'));
    return openSync(`/proc/${pid}/ns/user`, 'r');
  } catch (error) {
    throw driverErrors.failed('Cannot make a user namespace with the id map of a container', error);
  } finally {
    holder.stdin.end();
    holder.kill('SIGKILL');
    await ended;
  }
}
