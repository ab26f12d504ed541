// Kills the controller or one of its hosts with SIGKILL while revisions arrive. In the end each host has what the newest revision
// declares, and nothing that earlier ones declared.
import { spawn, type ChildProcess } from 'node:child_process';
import { mkdir, mkdtemp, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createClient } from '../../../server/client/client.ts';
import { startChild, type ChildDaemon } from '../../support/daemons/child-process.ts';
import { until } from '../../support/until.ts';
import type { FaultContext, FaultSuite, Figures } from '../suite.ts';

const hostNames = ['h1', 'h2'] as const;
const convergedMs = 120_000;

export const controllerSuite: FaultSuite = {
  doc: 'SIGKILL of the controller or a host while revisions of its source arrive',
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
  readonly #hosts = new Map<string, ChildDaemon>();
  #controller: ChildProcess | undefined;

  constructor(folder: string, context: FaultContext) {
    this.#folder = folder;
    this.#context = context;
  }

  async run(): Promise<Figures> {
    const { rounds, random, say, signal } = this.#context;
    await mkdir(join(this.#folder, 'manifests'));
    for (const name of hostNames) await this.#startHost(name);
    await this.#writeConfig();
    await this.#declare(0);
    this.#startController();
    for (let round = 1; round <= rounds; round += 1) {
      signal.throwIfAborted();
      await this.#declare(round);
      await sleep(random.next() * 1500, undefined, { signal });
      const chance = random.next();
      const victim = chance < 0.5 ? 'controller' : chance < 0.75 ? 'h1' : 'h2';
      if (victim === 'controller') {
        await this.#killController();
        this.#startController();
      } else {
        await this.#hosts.get(victim)?.kill('SIGKILL');
        await this.#startHost(victim);
      }
      if (round % 10 === 0) say(`controller: ${round} of ${rounds} kills`);
    }
    const wanted = namesOf(rounds);
    await until(() => this.#isConverged(rounds), convergedMs).catch(() => undefined);
    const lost: string[] = [];
    const orphans: string[] = [];
    for (const host of hostNames) {
      const found = await this.#notes(host);
      for (const name of wanted)
        if (found.get(name) !== String(rounds)) lost.push(`${host}: profile ${name} is not as declared`);
      for (const name of found.keys())
        if (!wanted.includes(name)) orphans.push(`${host}: profile ${name} is left over`);
    }
    return { what: 'revisions of a directory', rounds, acknowledged: rounds * hostNames.length, lost, orphans };
  }

  async close(): Promise<void> {
    await this.#killController();
    for (const host of this.#hosts.values()) await host.kill('SIGKILL');
  }

  async #isConverged(round: number): Promise<boolean> {
    for (const host of hostNames) {
      const found = await this.#notes(host).catch(() => new Map<string, string | undefined>());
      const wanted = namesOf(round);
      if (found.size !== wanted.length || wanted.some((name) => found.get(name) !== String(round))) return false;
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

  async #declare(round: number): Promise<void> {
    const texts = namesOf(round).map((name) => `kind: profile\nname: ${name}\nconfig: { user.note: '${round}' }\n`);
    await writeFile(join(this.#folder, 'manifests', 'stack.yaml'), texts.join('---\n'));
  }

  async #writeConfig(): Promise<void> {
    const lines = hostNames.map((name) => `  - { name: ${name}, address: "unix://${this.#socketOf(name)}" }`);
    await writeFile(join(this.#folder, 'hosts.yaml'), `kind: hosts\nhosts:\n${lines.join('\n')}\n`);
    await writeFile(
      join(this.#folder, 'gantry.yaml'),
      `hosts: { file: hosts.yaml }
sources: [{ name: faults, directory: { path: manifests, interval: 100ms } }]
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

/** Each revision declares a new profile and keeps the one before. */
const namesOf = (round: number): readonly string[] => [`r${round}`, `r${round + 1}`, 'rest'];
