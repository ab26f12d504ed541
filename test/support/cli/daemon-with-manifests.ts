// One daemon, one directory of manifests, one container on them: the setup for tests of changes and their effects.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import { cli, type CliRun } from './io.ts';
import { makeDaemon, type TestDaemon } from '../daemons/daemon.ts';
import { buildBusyboxImage } from '../images/busybox.ts';
import { freeSubnet } from '../hosts/free-resources.ts';
import { startStockLxd } from '../hosts/stock-lxd.ts';

/** Two test files at a time share the host: each has a separate bridge and subnet. */
export const network = `gtef${process.pid}`;
const subnet = freeSubnet();

/** gantryd on either runtime, or a stock LXD server. */
export type BenchHost = 'sim' | 'lxc' | 'lxd';
type Server = Pick<TestDaemon, 'dir' | 'socketPath' | 'call' | 'get' | 'cleanUp'>;

interface Lines {
  readonly type: string;
  readonly change?: {
    readonly resource: { readonly addr: string };
    readonly action: string;
    readonly power?: string;
    readonly effect: string;
    readonly paths: readonly string[];
  };
}

/** One daemon, one working directory; `container` is c1 with its own part of the stack. */
export class Bench {
  readonly daemon: Server;
  readonly dir: string;
  parts: Record<string, string>;
  constructor(daemon: Server, dir: string) {
    this.daemon = daemon;
    this.dir = dir;
    this.parts = {
      pool: 'kind: storage_pool\nname: p1\ndriver: dir\n',
      network: `kind: network\nname: ${network}\nconfig: { ipv4.address: ${subnet}.1/24, ipv6.address: none }\n`,
      profile: profileWith(''),
      image: 'kind: image\nname: base\nfile: image.tar.gz\naliases: [base]\n',
      container: containerWith(''),
    };
  }

  async gantry(verb: string, ...more: readonly string[]): Promise<CliRun> {
    const text = Object.values(this.parts).join('---\n');
    writeFileSync(join(this.dir, 'stack.yaml'), text);
    return cli([verb, '-f', join(this.dir, 'stack.yaml'), '--host', `unix://${this.daemon.socketPath}`, ...more]);
  }

  async apply(...more: readonly string[]): Promise<CliRun> {
    const run = await this.gantry('apply', '--auto-approve', ...more);
    expect(run.code, `${run.stdout}\n${run.stderr}`).toBe(0);
    return run;
  }

  /** `container/c1: update restart live`, one line for a changed object. */
  async planned(): Promise<readonly string[]> {
    const run = await this.gantry('plan', '--json');
    const lines = run.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Lines);
    return lines.flatMap(({ change }) =>
      change === undefined
        ? []
        : [[`${change.resource.addr}: ${change.action}`, change.power, change.effect].filter(Boolean).join(' ')],
    );
  }

  async expectSettled(): Promise<void> {
    const run = await this.gantry('plan', '--detailed-exitcode');
    expect(run.code, `a second plan\n${run.stdout}\n${run.stderr}`).toBe(0);
  }

  /** Applies; the plan after that is empty. */
  async settle(): Promise<void> {
    await this.apply();
    await this.expectSettled();
  }

  // oxlint-disable-next-line typescript/no-explicit-any
  get(path: string): Promise<any> {
    return this.daemon.get(path);
  }

  async close(): Promise<void> {
    await this.daemon.cleanUp();
    rmSync(this.dir, { recursive: true, force: true });
  }

  /** A change that needs a restart, and one that needs a recreation. */
  async life(name = 'c1'): Promise<{ readonly pid: number; readonly born: string; readonly status: string }> {
    const { created_at: born, status } = (await this.get(`/1.0/containers/${name}`)) as {
      created_at: string;
      status: string;
    };
    const { pid } = (await this.get(`/1.0/containers/${name}/state`)) as { pid: number };
    return { pid, born, status };
  }
}

export const profileWith = (more: string): string => `kind: profile
name: small
description: Small machines
config: { limits.memory: 64MiB }
devices:
  root: { type: disk, path: /, pool: p1 }
  eth0: { type: nic, nictype: bridged, parent: ${network}, name: eth0 }
${more}`;

export const containerWith = (more: string): string => `kind: container
name: c1
profiles: [small]
source: { type: image, alias: base }
${more}`;

export async function openBench(host: BenchHost): Promise<Bench> {
  const dir = mkdtempSync(join(realpathSync(tmpdir()), 'gtef-'));
  if (host === 'sim') packImage(dir, 'image.tar.gz', 'one');
  else copyFileSync((await buildBusyboxImage(join(dir, 'busybox'))).metadataPath, join(dir, 'image.tar.gz'));
  mkdirSync(join(dir, 'shared'));
  writeFileSync(join(dir, 'shared', 'mark'), 'seen');
  const bench = new Bench(host === 'lxd' ? await startStockLxd() : await makeDaemon({ runtime: host }), dir);
  try {
    await bench.apply();
  } catch (error) {
    await bench.close();
    throw error;
  }
  return bench;
}

export function packImage(dir: string, name: string, content: string): void {
  const root = join(dir, `content-${content}`);
  mkdirSync(join(root, 'rootfs', 'etc'), { recursive: true });
  writeFileSync(join(root, 'rootfs', 'etc', 'mark'), content);
  writeFileSync(join(root, 'metadata.yaml'), 'architecture: x86_64\ncreation_date: 1700000000\n');
  execFileSync('tar', ['-czf', join(dir, name), '-C', root, 'metadata.yaml', 'rootfs']);
}
