// Kills the controller, one of its hosts or its git server with SIGKILL while commits of five teams arrive, some with objects of another
// team. In the end each host has exactly the objects of the newest good commit of each team; no host got a change twice or went back to
// an older commit, and no team wrote an object of another.
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '../../../server/client/client.ts';
import { startChild, type ChildDaemon } from '../../support/daemons/child-process.ts';
import { Repository } from '../../support/git/repository.ts';
import { until } from '../../support/until.ts';
import { pick } from '../cluster/clients.ts';
import type { FaultContext, FaultSuite, Figures } from '../suite.ts';
import { GitProcess } from './git-process.ts';
import { WriteLog, wrongWrites } from './write-log.ts';

const hostNames = ['h1', 'h2'] as const;
const teams = ['t1', 't2', 't3', 't4', 't5'] as const;
type Team = (typeof teams)[number];
const commitsEachRound = 2;
/** The share of hostile commits; a good one follows each. */
const hostileShare = 0.1;
/** Max pause between two actions of a round. */
const longestPauseMs = 1000;
const convergedMs = 120_000;

export const controllerSuite: FaultSuite = {
  doc: 'SIGKILL of the controller, a host or the git server while commits of five teams arrive',
  rounds: 250,
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
  readonly #repositories: ReadonlyMap<Team, Repository>;
  /** The number of the newest good commit of each team. */
  readonly #newest = new Map<Team, number>();
  readonly #hosts = new Map<string, ChildDaemon>();
  readonly #logs = new Map<string, WriteLog>();
  #git: GitProcess | undefined;
  #controller: ChildProcess | undefined;

  constructor(folder: string, context: FaultContext) {
    this.#folder = folder;
    this.#context = context;
    this.#repositories = new Map(teams.map((team) => [team, new Repository(folder, team)]));
  }

  async run(): Promise<Figures> {
    const { rounds, random, say, signal } = this.#context;
    const commits = rounds * commitsEachRound;
    for (const name of hostNames) {
      await this.#startHost(name);
      this.#logs.set(name, await WriteLog.listen(join(this.#folder, `${name}.s`), this.#socketOf(name)));
    }
    for (const team of teams) this.#declare(team, 0);
    this.#git = await GitProcess.start(this.#folder, join(this.#folder, 'built'));
    await this.#writeConfig(this.#git.url);
    this.#startController();
    for (let commit = 1; commit <= commits; commit += 1) {
      signal.throwIfAborted();
      const team = pick(teams, random);
      if (random.next() < hostileShare) {
        this.#reachOut(
          team,
          pick(
            teams.filter((one) => one !== team),
            random,
          ),
        );
        await sleep(random.next() * longestPauseMs, undefined, { signal });
      }
      this.#declare(team, commit);
      await sleep(random.next() * longestPauseMs, undefined, { signal });
      if (commit % commitsEachRound === 0) await this.#killOne(random.next());
      if (commit % (commitsEachRound * 10) === 0) say(`controller: ${commit} of ${commits} commits`);
    }
    await until(() => this.#isConverged(), convergedMs).catch(() => undefined);
    return { what: 'commits of five teams', rounds, acknowledged: commits, ...(await this.#judged()) };
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

  /** The note that each profile should have. */
  #wanted(): ReadonlyMap<string, string> {
    return new Map(
      [...this.#newest].flatMap(([team, commit]) =>
        namesOf(team, commit).map((name) => [name, String(commit)] as const),
      ),
    );
  }

  async #judged(): Promise<Pick<Figures, 'lost' | 'orphans'>> {
    const wanted = this.#wanted();
    const lost: string[] = [];
    const orphans: string[] = [];
    for (const host of hostNames) {
      const found = await this.#notes(host);
      for (const [name, note] of wanted)
        if (found.get(name) !== note) lost.push(`${host}: profile ${name} is not as declared`);
      for (const name of found.keys()) if (!wanted.has(name)) orphans.push(`${host}: profile ${name} is left over`);
      const writes = this.#logs.get(host)?.writes ?? [];
      if (writes.length < wanted.size) lost.push(`${host}: its changes were not seen, so nothing is known of them`);
      lost.push(...wrongWrites(host, writes));
    }
    return { lost, orphans };
  }

  async #isConverged(): Promise<boolean> {
    const wanted = this.#wanted();
    for (const host of hostNames) {
      const found = await this.#notes(host).catch(() => new Map<string, string | undefined>());
      if (found.size !== wanted.size || [...wanted].some(([name, note]) => found.get(name) !== note)) return false;
    }
    return true;
  }

  /** The notes of the profiles of the teams, by name. */
  async #notes(host: string): Promise<ReadonlyMap<string, string | undefined>> {
    const client = createClient(`unix://${this.#socketOf(host)}`);
    try {
      const profiles = await client.list('profile', this.#context.signal);
      const own = profiles.filter(({ name }) => /^t\d-/.test(name));
      return new Map(own.map(({ name, config }) => [name, config['user.note']]));
    } finally {
      await client.close();
    }
  }

  #declare(team: Team, commit: number): void {
    this.#push(team, namesOf(team, commit), commit, `Commit ${commit}`);
    this.#newest.set(team, commit);
  }

  /** Pushes a commit that also declares an object of another team, which must not be applied at all. */
  #reachOut(team: Team, other: Team): void {
    const commit = this.#newest.get(team) ?? 0;
    this.#push(team, [...namesOf(team, commit), `${other}-rest`], hostileNote, 'A hostile commit');
  }

  #push(team: Team, names: readonly string[], note: number, message: string): void {
    const texts = names.map(
      (name) => `kind: profile\nname: ${name}\nconfig: { user.note: '${note}', user.team: ${team} }\n`,
    );
    this.#repositories.get(team)?.commit({ 'stack.yaml': texts.join('---\n') }, message);
  }

  async #writeConfig(git: string): Promise<void> {
    const lines = hostNames.map((name) => `  - { name: ${name}, address: "unix://${this.#folder}/${name}.s" }`);
    await writeFile(join(this.#folder, 'hosts.yaml'), `kind: hosts\nhosts:\n${lines.join('\n')}\n`);
    await writeFile(
      join(this.#folder, 'gantry.yaml'),
      `hosts: { file: hosts.yaml }
sources: [${teams.map((team) => `{ name: ${team}, git: { url: "${git}/${team}.git", branch: main, history: linear, interval: 300ms } }`).join(', ')}]
sets: [${teams.map((team) => `{ name: ${team}, source: ${team}, prune: { max: 100% }, retry: { first: 200ms, longest: 1s } }`).join(', ')}]
tenants: [${teams.map((team) => `{ name: ${team}, sources: [{ name: ${team} }], hosts: [h1, h2], kinds: [profile], names: [${team}-*] }`).join(', ')}]
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

/** Each commit declares a new profile and keeps one. */
const namesOf = (team: Team, commit: number): readonly string[] => [`${team}-r${commit}`, `${team}-rest`];

/** Greater than the note of any good commit, so that a later good one shows as a step back. */
const hostileNote = 999_999;
