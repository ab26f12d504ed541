// A private etcd for tests, of one or several members on the loopback interface, which can be killed, frozen and started again.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, openSync, closeSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ClusterHost } from '../cluster/hosts.ts';
import { freePort } from '../hosts/free-port.ts';
import { programRuns } from '../hosts/program-runs.ts';
import { until } from '../until.ts';

export interface EtcdOptions {
  readonly members?: number;
  /** More flags for every member. */
  readonly flags?: readonly string[];
  /** Replaces the scheme of client URLs; the flags must then name the files. */
  readonly tls?: boolean;
  /** A member on each of these hosts, instead of all on the loopback interface. */
  readonly hosts?: readonly Pick<ClusterHost, 'address' | 'run'>[];
}

export interface TestEtcd {
  readonly endpoints: readonly string[];
  /** Names of etcdctl's commands; `env` has the endpoints. */
  ctl(...args: string[]): string;
  /** Index of the member that leads. */
  leader(): number;
  /** SIGKILL; the data stays. */
  kill(member: number): Promise<void>;
  start(member: number): Promise<void>;
  signal(member: number, signal: 'SIGSTOP' | 'SIGCONT'): void;
  /** Process id; 0 while it does not run. */
  pid(member: number): number;
  isRunning(member: number): boolean;
  /** Ends every member and removes the data. */
  stop(): Promise<void>;
}

/** Why there is no etcd; undefined if there is one. Printed once per test file. */
export function etcdMissing(): string | undefined {
  if (programRuns(['etcd', '--version']) && programRuns(['etcdctl', 'version'], { ETCDCTL_API: '3' })) return undefined;
  const missing = 'etcd and etcdctl are not installed (apt-get install etcd-server etcd-client)';
  console.log(`skipped: tests with a real etcd: ${missing}`);
  return missing;
}

/** It has a leader. */
async function isHealthy(endpoint: string): Promise<boolean> {
  const answer = await fetch(`http://${endpoint}/health`).catch(() => undefined);
  return answer !== undefined && (await answer.text()).includes('true');
}

export async function startEtcd({
  hosts,
  members = hosts?.length ?? 1,
  flags = [],
  tls = false,
}: EtcdOptions = {}): Promise<TestEtcd> {
  const dir = mkdtempSync(join(tmpdir(), 'gantry-etcd-'));
  const ports: { client: number; peer: number }[] = [];
  for (let member = 0; member < members; member++) {
    ports.push(
      hosts === undefined ? { client: await freePort(), peer: await freePort() } : { client: 2379, peer: 2380 },
    );
  }
  const addressOf = (member: number): string => hosts?.[member]?.address ?? '127.0.0.1';
  const endpointOf = (member: number): string => `${addressOf(member)}:${ports[member]?.client}`;
  const peerUrl = (member: number): string => `http://${addressOf(member)}:${ports[member]?.peer}`;
  const clientUrl = (member: number): string => `${tls ? 'https' : 'http'}://${endpointOf(member)}`;
  const all = ports.map((_, member) => `m${member}=${peerUrl(member)}`).join(',');
  const children: (ChildProcess | undefined)[] = [];

  const launch = (member: number): void => {
    const log = openSync(join(dir, `m${member}.log`), 'a');
    const args = [
      ['--name', `m${member}`],
      ['--data-dir', join(dir, `m${member}`)],
      ['--listen-client-urls', clientUrl(member)],
      ['--advertise-client-urls', clientUrl(member)],
      ['--listen-peer-urls', peerUrl(member)],
      ['--initial-advertise-peer-urls', peerUrl(member)],
      ['--initial-cluster', all],
      ['--initial-cluster-token', dir],
      ['--logger', 'zap'],
    ].flat();
    const [file = 'etcd', ...words] = [...(hosts?.[member]?.run ?? []), 'etcd', ...args, ...flags];
    const child = spawn(file, words, { stdio: ['ignore', log, log], detached: false });
    closeSync(log);
    children[member] = child;
    child.on('exit', () => {
      if (children[member] === child) children[member] = undefined;
    });
  };
  const listens = (member: number): Promise<boolean> =>
    new Promise((resolve) => {
      const socket = connect(ports[member]?.client ?? 0, addressOf(member));
      socket.on('connect', () => {
        socket.destroy();
        resolve(true);
      });
      socket.on('error', () => resolve(false));
    });
  const ready = async (member: number): Promise<void> => {
    await until(async () => {
      if (children[member] !== undefined) return await listens(member);
      throw new Error(`etcd ended: ${readFileSync(join(dir, `m${member}.log`), 'utf8').slice(-2000)}`);
    });
  };
  const end = async (member: number): Promise<void> => {
    const child = children[member];
    if (child === undefined) return;
    const gone = once(child, 'exit');
    child.kill('SIGKILL');
    await gone;
  };
  const self: TestEtcd = {
    endpoints: ports.map((_, member) => endpointOf(member)),
    ctl: (...args) =>
      execFileSync('etcdctl', [`--endpoints=${ports.map((_, member) => clientUrl(member)).join(',')}`, ...args], {
        env: { ...process.env, ETCDCTL_API: '3' },
        encoding: 'utf8',
        stdio: 'pipe',
      }),
    leader: () => {
      const leads = (member: number): boolean => {
        const args = [`--endpoints=${clientUrl(member)}`, 'endpoint', 'status', '--write-out=json'];
        const env = { ...process.env, ETCDCTL_API: '3' };
        const text = execFileSync('etcdctl', args, { env, encoding: 'utf8', stdio: 'pipe' });
        // Ids exceed 2^53: compared as text.
        const id = /"member_id":([0-9]+)/.exec(text)?.[1];
        return id !== undefined && /"leader":([0-9]+)/.exec(text)?.[1] === id;
      };
      const running = ports.flatMap((_, member) => (children[member] === undefined ? [] : [member]));
      // On a busy machine members may be in the middle of an election.
      for (const end = Date.now() + 30_000; Date.now() < end;) {
        const found = running.find(leads);
        if (found !== undefined) return found;
      }
      throw new Error('no member of etcd has led for 30 s');
    },
    kill: end,
    start: async (member) => {
      launch(member);
      await ready(member);
    },
    signal: (member, signal) => void children[member]?.kill(signal),
    pid: (member) => children[member]?.pid ?? 0,
    isRunning: (member) => children[member] !== undefined,
    stop: async () => {
      for (const member of ports.keys()) await end(member);
      rmSync(dir, { recursive: true, force: true });
    },
  };
  try {
    for (const member of ports.keys()) launch(member);
    for (const member of ports.keys()) await ready(member);
    if (!tls) for (const member of ports.keys()) await until(() => isHealthy(endpointOf(member)));
    return self;
  } catch (error) {
    await self.stop();
    throw error;
  }
}
