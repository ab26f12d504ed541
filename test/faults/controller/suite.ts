// Kills the controller, one of its hosts or its git server with SIGKILL while commits arrive. In the end each host has what the newest
// commit declares and nothing that earlier ones declared, and no host got a change twice or went back to an older commit.
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '../../../server/client/client.ts';
import { startChild, type ChildDaemon } from '../../support/daemons/child-process.ts';
import { Repository } from '../../support/git/repository.ts';
import { until } from '../../support/until.ts';
import type { FaultContext, FaultSuite, Figures } from '../suite.ts';
import { GitProcess } from './git-process.ts';
import { WriteLog, wrongWrites } from './write-log.ts';

const hostNames = ['h1', 'h2'] as const;
const commitsEachRound = 2;
/** Between two deeds of a round, at most. */
const longestPauseMs = 1000;
const convergedMs = 120_000;

export const controllerSuite: FaultSuite = {
  doc: 'SIGKILL of the controller, a host or the git server while commits arrive',
  rounds: 100,
  missing: () => Promise.resolve(undefined),
  run: async (context) => {
    const folder = await realpath(await mkdtemp(join(tmpdir(), 'gantry-faults-')));
    const world = new World(folder, context);
    try {
      return [await world.run()];
    } finally {
      await world.close();
      await rm(folder, { recursive: true, force: true });
    }
  },
};

class World {
  readonly #folder: string;
  readonly #context: FaultContext;
  readonly #repository: Repository;
  readonly #hosts = new Map<string, ChildDaemon>();
  readonly #logs = new Map<string, WriteLog>();
  #git: GitProcess | undefined;
  #controller: ChildProcess | undefined;

  constructor(folder: string, context: FaultContext) {
    this.#folder = folder;
    this.#context = context;
    this.#repository = new Repository(folder);
  }

  async run(): Promise<Figures> {
    const { rounds, random, say, signal } = this.#context;
    const commits = rounds * commitsEachRound;
    for (const name of hostNames) {
      await this.#startHost(name);
      this.#logs.set(name, await WriteLog.listen(join(this.#folder, `${name}.s`), this.#socketOf(name)));
    }
    this.#declare(0);
    this.#git = await GitProcess.start(this.#folder, join(this.#folder, 'built'));
    await this.#writeConfig(this.#git.url);
    this.#startController();
    for (let commit = 1; commit <= commits; commit += 1) {
      signal.throwIfAborted();
      this.#declare(commit);
      await sleep(random.next() * longestPauseMs, undefined, { signal });
      if (commit % commitsEachRound === 0) await this.#killOne(random.next());
      if (commit % (commitsEachRound * 10) === 0) say(`controller: ${commit} of ${commits} commits`);
    }
    await until(() => this.#isConverged(commits), convergedMs).catch(() => undefined);
    return { what: 'commits of a git server', rounds, acknowledged: commits, ...(await this.#judged(commits)) };
  }

  async close(): Promise<void> {
    await this.#killController();
    await this.#git?.kill();
    for (const log of this.#logs.values()) await log.close();
    for (const host of this.#hosts.values()) await host.kill('SIGKILL');
  }

  /** `chance`: from 0 up to 1. */
  async #killOne(chance: number): Promise<void> {
    if (chance < 0.4) {
      await this.#killController();
      this.#startController();
    } else if (chance < 0.7) {
      await this.#git?.kill();
      await this.#git?.restart();
    } else {
      const name = chance < 0.85 ? 'h1' : 'h2';
      await this.#hosts.get(name)?.kill('SIGKILL');
      await this.#startHost(name);
    }
  }

  async #judged(commit: number): Promise<Pick<Figures, 'lost' | 'orphans'>> {
    const wanted = namesOf(commit);
    const lost: string[] = [];
    const orphans: string[] = [];
    for (const host of hostNames) {
      const found = await this.#notes(host);
      for (const name of wanted)
        if (found.get(name) !== String(commit)) lost.push(`${host}: profile ${name} is not as declared`);
      for (const name of found.keys())
        if (!wanted.includes(name)) orphans.push(`${host}: profile ${name} is left over`);
      const writes = this.#logs.get(host)?.writes ?? [];
      if (writes.length < wanted.length) lost.push(`${host}: its changes were not seen, so nothing is known of them`);
      lost.push(...wrongWrites(host, writes));
    }
    return { lost, orphans };
  }

  async #isConverged(commit: number): Promise<boolean> {
    for (const host of hostNames) {
      const found = await this.#notes(host).catch(() => new Map<string, string | undefined>());
      const wanted = namesOf(commit);
      if (found.size !== wanted.length || wanted.some((name) => found.get(name) !== String(commit))) return false;
    }
    return true;
  }

  /** The notes of the profiles of the set, by name. */
  async #notes(host: string): Promise<ReadonlyMap<string, string | undefined>> {
    const client = createClient(`unix://${this.#socketOf(host)}`);
    try {
      const profiles = await client.list('profile', this.#context.signal);
      const own = profiles.filter(({ name }) => name.startsWith('r'));
      return new Map(own.map(({ name, config }) => [name, config['user.note']]));
    } finally {
      await client.close();
    }
  }

  #declare(commit: number): void {
    const texts = namesOf(commit).map((name) => `kind: profile\nname: ${name}\nconfig: { user.note: '${commit}' }\n`);
    this.#repository.commit({ 'stack.yaml': texts.join('---\n') }, `Commit ${commit}`);
  }

  async #writeConfig(git: string): Promise<void> {
    const lines = hostNames.map((name) => `  - { name: ${name}, address: "unix://${this.#folder}/${name}.s" }`);
    await writeFile(join(this.#folder, 'hosts.yaml'), `kind: hosts\nhosts:\n${lines.join('\n')}\n`);
    await writeFile(
      join(this.#folder, 'gantry.yaml'),
      `hosts: { file: hosts.yaml }
sources: [{ name: faults, git: { url: "${git}/site.git", branch: main, history: linear, interval: 300ms } }]
sets: [{ name: faults, source: faults, prune: { max: 100% }, retry: { first: 200ms, longest: 1s } }]
`,
    );
  }

  #socketOf(host: string): string {
    return join(this.#folder, host, 'unix.socket');
  }

  async #startHost(name: string): Promise<void> {
    const entry = this.#context.gantryd;
    const folder = join(this.#folder, name);
    await mkdir(folder, { recursive: true });
    this.#hosts.set(name, await startChild({ entry }, folder, 'sim'));
  }

  #startController(): void {
    const program = join(dirname(this.#context.gantryd), 'gantry.js');
    const args = [program, 'controller', '--config', join(this.#folder, 'gantry.yaml')];
    this.#controller = spawn(process.execPath, args, { stdio: 'ignore' });
  }

  async #killController(): Promise<void> {
    const child = this.#controller;
    this.#controller = undefined;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const gone = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await gone;
  }
}

/** Each commit declares a new profile and keeps the one before. */
const namesOf = (commit: number): readonly string[] => [`r${commit}`, `r${commit + 1}`, 'rest'];
