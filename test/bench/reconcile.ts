// The reconciler as a program against a simulated daemon: plans of many objects, applies compared with the bare API and Terraform,
// detection of drift, dry runs.
import { execFile, spawn, spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { countRequests } from '../support/daemons/counting-proxy.ts';
import { timesOf, type BenchContext, type Group } from './group.ts';
import type { Row } from './report.ts';
import { names, removeContainers, startGantryd, temporaryDir } from './servers.ts';
import { createMany } from './containers.ts';
import { Wire } from './wire.ts';

const run = promisify(execFile);
const cliPath = fileURLToPath(new URL('../../bin/gantry.js', import.meta.url));
const rounds = 3;

/** Preloaded by NODE_OPTIONS: reports the maximum memory of the program, and its CPU time, which other load disturbs less. */
const hook = `const {appendFileSync}=require('node:fs');
process.on('exit',()=>{const {maxRSS,userCPUTime,systemCPUTime}=process.resourceUsage();
appendFileSync(process.env.BENCH_USAGE_FILE,maxRSS/1024+' '+(userCPUTime+systemCPUTime)/1000+'\\n')});
`;

export const reconcileGroup: Group = async (context) => {
  const dir = await temporaryDir();
  const gantryd = await startGantryd(join(dir, 'state'), 'sim');
  const bench = new Bench(context, dir, gantryd.socket);
  try {
    await writeFile(join(dir, 'hook.cjs'), hook);
    return [...(await bench.applies()), ...(await bench.drifts()), ...(await bench.plans(10 * context.containers))];
  } finally {
    await bench.wire.close();
    await gantryd.stop();
    await rm(dir, { recursive: true, force: true });
  }
};

const row = (what: string, unit: Row['unit'], samples: readonly number[], target: Partial<Row> = {}): Row => ({
  group: 'reconcile',
  what,
  unit,
  ...target,
  samples: { gantry: samples },
});

const profileOf = (note: string): string =>
  `kind: profile\nname: ${names.profile}\nconfig: { user.note: ${note} }\ndevices: { root: { type: disk, path: /, pool: ${names.pool} } }\n`;

function manifest(count: number, note = 'a'): string {
  const containers = Array.from(
    { length: count },
    (_, index) =>
      `kind: container\nname: ${names.container(index)}\nprofiles: [${names.profile}]\nsource: { type: none }\nconfig: { limits.memory: 128MiB, user.index: "${index}" }\nstate: stopped\n`,
  );
  return [`kind: storage_pool\nname: ${names.pool}\ndriver: dir\n`, profileOf(note), ...containers].join('---\n');
}

class Bench {
  readonly #context: BenchContext;
  readonly #dir: string;
  readonly #host: string;
  readonly #socket: string;
  readonly wire: Wire;

  constructor(context: BenchContext, dir: string, socket: string) {
    this.#context = context;
    this.#dir = dir;
    this.#socket = socket;
    this.#host = `unix://${socket}`;
    this.wire = new Wire(socket);
  }

  get #stack(): string {
    return join(this.#dir, 'stack.yaml');
  }

  async #gantry(...args: readonly string[]): Promise<string> {
    const { stdout } = await run(process.execPath, [cliPath, ...args], {
      env: this.#env,
      signal: this.#context.signal,
      maxBuffer: 2 ** 30,
    });
    return stdout;
  }

  get #env(): NodeJS.ProcessEnv {
    return {
      ...process.env,
      XDG_STATE_HOME: join(this.#dir, 'cli'),
      NODE_OPTIONS: `--require ${join(this.#dir, 'hook.cjs')}`,
      BENCH_USAGE_FILE: join(this.#dir, 'usage'),
    };
  }

  /** The same containers by bare requests, by an apply, and as many empty resources by Terraform; in turns. */
  async applies(): Promise<readonly Row[]> {
    const { containers: count, say, signal } = this.#context;
    await writeFile(this.#stack, manifest(0));
    await this.#gantry('apply', '-y', '-f', this.#stack, '--host', this.#host);
    await writeFile(this.#stack, manifest(count));
    const terraform = spawnSync('terraform', ['version']).status === 0;
    if (!terraform) say('skipped: terraform apply: it is not on the PATH');
    const [raw, rates, walls, others]: number[][] = [[], [], [], []];
    for (let round = 0; round < rounds; round += 1) {
      say(`reconcile: ${count} containers, round ${round + 1}`);
      const [rawMs] = await timesOf(1, () => createMany({ wire: this.wire }, count, signal, []), signal);
      raw?.push((count * 1000) / (rawMs ?? Number.NaN));
      await removeContainers(this.wire, signal);
      const startedAt = performance.now();
      const lines = await this.#gantry(
        'apply',
        '-y',
        '--json',
        '--parallelism',
        '16',
        '-f',
        this.#stack,
        '--host',
        this.#host,
      );
      walls?.push(performance.now() - startedAt);
      rates?.push((count * 1000) / spanOf(lines));
      await removeContainers(this.wire, signal);
      if (terraform) others?.push(await this.#terraform(count, round));
    }
    const ratios = (rates ?? []).map((rate, index) => rate / (raw?.[index] ?? Number.NaN));
    const times = (others ?? []).map((ms, index) => ms / (walls?.[index] ?? Number.NaN));
    return [
      row(`create ${count} empty containers, 16 bare clients`, '/s', raw ?? []),
      row(`apply of the same, --parallelism 16, its steps`, '/s', rates ?? []),
      row('steps of the apply compared with bare clients', 'x', ratios, { atLeast: 0.8 }),
      row('the whole program, with its start, manifests, plan', 'ms', walls ?? []),
      ...(terraform
        ? [
            row(`terraform apply of ${count} terraform_data`, 'ms', others ?? []),
            row('the same compared with the whole program', 'x', times, { atLeast: 5 }),
          ]
        : []),
    ];
  }

  async #terraform(count: number, round: number): Promise<number> {
    const cwd = join(this.#dir, `terraform-${round}`);
    await mkdir(cwd);
    const input = { name: '${count.index}', config: { 'limits.memory': '128MiB', 'user.index': '${count.index}' } };
    await writeFile(
      join(cwd, 'main.tf.json'),
      JSON.stringify({ resource: { terraform_data: { c: { count, input } } } }),
    );
    const env = { ...process.env, CHECKPOINT_DISABLE: '1' };
    const options = { cwd, env, signal: this.#context.signal, maxBuffer: 2 ** 28 };
    await run('terraform', ['init'], options);
    const [ms] = await timesOf(1, () => run('terraform', ['apply', '-auto-approve'], options), this.#context.signal);
    return ms ?? Number.NaN;
  }

  /** A daemon that has everything declared, and a dry run of one change on a copy of it. */
  async plans(count: number): Promise<readonly Row[]> {
    const { say, signal } = this.#context;
    say(`reconcile: making ${count} objects`);
    await writeFile(this.#stack, manifest(count - 2));
    await this.#gantry('apply', '-y', '--parallelism', '16', '-f', this.#stack, '--host', this.#host);
    say(`reconcile: plans of ${count}`);
    const proxy = await countRequests(this.#socket);
    const plan = (...more: readonly string[]) => this.#gantry('plan', '-f', this.#stack, ...more);
    try {
      const text = await plan('--host', proxy.host);
      if (!text.startsWith('No changes'))
        throw new Error(`a plan of unchanged objects is not empty: ${text.slice(0, 200)}`);
    } finally {
      await proxy.close();
    }
    const max = Math.max(...countsOf(proxy.requests).values());
    const bare = await this.#measured(() => plan('--host', this.#host));
    await writeFile(this.#stack, manifest(count - 2, 'b'));
    const dry = await this.#measured(() => plan('--dry-run=server', '--host', this.#host));
    await writeFile(this.#stack, manifest(count - 2));
    signal.throwIfAborted();
    return [
      row(`plan of ${count} objects that are there, whole program`, 'ms', bare.ms, { atMost: 3000 }),
      row('requests for any one list in it', 'calls', [max], { atMost: 1 }),
      row('CPU time of it', 'ms', bare.cpu),
      row('most memory of it', 'MB', bare.mb),
      row(`dry run of one change on a copy of ${count} objects`, 'ms', dry.ms),
      row('CPU time of it, the copy included', 'ms', dry.cpu),
      row('most memory of it, the copy included', 'MB', dry.mb),
    ];
  }

  async #measured(work: () => Promise<unknown>): Promise<Record<'ms' | 'cpu' | 'mb', readonly number[]>> {
    const file = join(this.#dir, 'usage');
    await rm(file, { force: true });
    const ms = await timesOf(rounds, work, this.#context.signal);
    const lines = readFileSync(file, 'utf8').trim().split('\n');
    const column = (index: number): readonly number[] => lines.map((line) => Number(line.split(' ')[index]));
    return { ms, cpu: column(1), mb: column(0) };
  }

  /** From a change by another client until the line of `gantry drift --watch` that reports it. */
  async drifts(): Promise<readonly Row[]> {
    const { say, signal, containers } = this.#context;
    say('reconcile: drift as it happens');
    await this.#gantry('apply', '-y', '--parallelism', '16', '-f', this.#stack, '--host', this.#host);
    const args = [cliPath, 'drift', '--watch', '--json', '-f', this.#stack, '--host', this.#host];
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], env: this.#env });
    const ended = new Promise((resolve) => child.once('exit', resolve));
    try {
      const next = linesOf(createInterface({ input: child.stdout }));
      await next(({ type }) => type === 'drift_summary');
      const samples: number[] = [];
      for (let index = 0; index < 10; index += 1) {
        signal.throwIfAborted();
        const name = names.container(index * Math.floor(containers / 10));
        const startedAt = performance.now();
        await this.wire.change('PATCH', `/1.0/containers/${name}`, { config: { 'limits.memory': '64MiB' } });
        await next(({ type, change }) => type === 'resource_drift' && change?.address === `container/${name}`);
        samples.push(performance.now() - startedAt);
      }
      return [
        row(`drift among ${containers} containers, from the change to the line`, 'ms', samples, { atMost: 1000 }),
      ];
    } finally {
      child.kill('SIGINT');
      await ended;
    }
  }
}

interface Line {
  readonly type: string;
  readonly '@timestamp': string;
  readonly change?: { readonly address: string };
}

/** Milliseconds from the begin of the first step to the end of the last one. */
function spanOf(text: string): number {
  const lines = text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Line);
  const at = (type: string): readonly number[] =>
    lines.filter((line) => line.type === type).map((line) => Date.parse(line['@timestamp']));
  return Math.max(...at('apply_complete')) - Math.min(...at('apply_start'));
}

/** Number of requests for each list. */
function countsOf(requests: readonly string[]): ReadonlyMap<string, number> {
  const counts = new Map<string, number>();
  for (const line of requests.filter((one) => one.includes('recursion=')))
    counts.set(line, (counts.get(line) ?? 0) + 1);
  return counts;
}

/** Passes each line to the waiter for its kind. */
function linesOf(input: ReturnType<typeof createInterface>): (fits: (line: Line) => boolean) => Promise<void> {
  const kept: Line[] = [];
  let wake = (): void => {};
  input.on('line', (text) => {
    kept.push(JSON.parse(text) as Line);
    wake();
  });
  return async (fits) => {
    for (;;) {
      const line = kept.shift();
      if (line === undefined) await new Promise<void>((resolve) => (wake = resolve));
      else if (fits(line)) return;
    }
  };
}
