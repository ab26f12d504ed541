// Open vSwitch for tests: starts its database and switch at their default paths, unless the host already runs them.
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { exec } from '../../../server/lib/exec.ts';
import { until } from '../until.ts';

const runDir = '/var/run/openvswitch';
const socket = join(runDir, 'db.sock');

export interface SwitchDaemon {
  /** Kills both programs; the database file stays. */
  kill(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

/** Why Open vSwitch cannot be started here; undefined if it can. */
export function switchMissing(): string | undefined {
  if (process.getuid?.() !== 0) return 'it needs root';
  if (!existsSync('/dev/net/tun')) return 'the kernel has no tap interfaces';
  const missing = ['/usr/sbin/ovsdb-server', '/usr/sbin/ovs-vswitchd'].find((path) => !existsSync(path));
  if (missing !== undefined) return `${missing} is missing`;
  return existsSync(socket) ? 'the host runs an Open vSwitch of its own' : undefined;
}

export async function startSwitch(): Promise<SwitchDaemon> {
  const dir = mkdtempSync(join(tmpdir(), 'gtya-ovs-'));
  const database = join(dir, 'conf.db');
  let children: ChildProcess[] = [];
  await exec(['ovsdb-tool', 'create', database, '/usr/share/openvswitch/vswitch.ovsschema']);
  mkdirSync(runDir, { recursive: true });
  const run = (program: string, ...args: string[]): void => {
    children.push(spawn(program, args, { stdio: 'ignore' }));
  };
  const kill = async (): Promise<void> => {
    const ended = children.map((child) => new Promise((resolve) => void child.once('exit', resolve)));
    for (const child of children) child.kill('SIGKILL');
    children = [];
    await Promise.all(ended);
    rmSync(socket, { force: true });
  };
  const start = async (): Promise<void> => {
    run('ovsdb-server', database, `--remote=punix:${socket}`, `--unixctl=${join(dir, 'db.ctl')}`);
    // The socket is there a moment before it listens.
    const begun = (): Promise<unknown> => exec(['ovs-vsctl', '--no-wait', '--timeout=15', 'init']);
    await until(() => begun().then(Boolean, () => false));
    run('ovs-vswitchd', `unix:${socket}`, `--unixctl=${join(dir, 'switch.ctl')}`);
  };
  await start();
  return {
    kill,
    start,
    async close() {
      await kill();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
