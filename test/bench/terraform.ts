// The Terraform provider: the cost of its start and of plans without changes, compared with Terraform's own terraform_data. Uses a
// simulated daemon, since only the way to it is measured.
import { execFile, spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { bundleProvider } from '../../provider/packaging/bundle.ts';
import { releaseFiles, writeRelease } from '../../provider/packaging/release.ts';
import { timesOf, type BenchContext, type Group } from './group.ts';
import { median, type Row } from './report.ts';
import { startGantryd } from './servers.ts';

const run = promisify(execFile);
const rounds = 5;

/** Preloaded into the plugin by NODE_OPTIONS: adds its CPU time to a file when it ends. */
const hook = `const {appendFileSync}=require('node:fs');
process.on('exit',()=>{const {user,system}=process.cpuUsage();appendFileSync(process.env.BENCH_CPU_FILE,(user+system)/1000+'\\n')});
`;

const counted = (count: number): object => ({
  count,
  name: 'b${count.index}',
  profiles: [],
  running: false,
  config: { 'limits.memory': '128MiB', 'user.index': '${tostring(count.index)}' },
  devices: { root: { type: 'disk', path: '/', pool: 'bench' } },
});

const oursOf = (count: number): object => ({
  terraform: { required_providers: { gantry: { source: 'gantry/gantry' } } },
  provider: { gantry: {} },
  resource: {
    gantry_storage_pool: { p: { name: 'bench', driver: 'dir' } },
    gantry_container: { c: { ...counted(count), depends_on: ['gantry_storage_pool.p'] } },
  },
});

const dataOf = (count: number): object => {
  const { count: times, ...input } = counted(count) as { readonly count: number };
  return { resource: { terraform_data: { c: { count: times, input } } } };
};

export const terraformGroup: Group = async (context) => {
  if (spawnSync('terraform', ['version']).status !== 0) {
    context.say('skipped: terraform: it is not on the PATH');
    return [];
  }
  const dir = await mkdtemp(join(tmpdir(), 'gantry-bench-tf-'));
  const gantryd = await startGantryd(join(dir, 'state'), 'sim');
  try {
    const version = '0.0.1';
    const programs = await bundleProvider(process.cwd());
    writeRelease(releaseFiles({ version, programs, license: Buffer.alloc(0) }), join(dir, 'release'));
    const folder = join(dir, `release/mirror/registry.terraform.io/gantry/gantry/${version}/linux_amd64`);
    const bench = new Bench(context, dir, `unix://${gantryd.socket}`);
    await bench.prepare();
    return [
      ...(await bench.starts(join(folder, 'main.cjs'))),
      ...(await bench.plans(1)),
      ...(await bench.plans(context.containers)),
    ];
  } finally {
    await gantryd.stop();
    await rm(dir, { recursive: true, force: true });
  }
};

const row = (what: string, samples: readonly number[], atMost?: number): Row => ({
  group: 'terraform',
  what,
  unit: 'ms',
  ...(atMost === undefined ? {} : { atMost }),
  samples: { provider: samples },
});

class Bench {
  readonly #context: BenchContext;
  readonly #dir: string;
  readonly #address: string;
  #bareMs = 0;

  constructor(context: BenchContext, dir: string, address: string) {
    this.#context = context;
    this.#dir = dir;
    this.#address = address;
  }

  async prepare(): Promise<void> {
    const mirror = JSON.stringify(join(this.#dir, 'release/mirror'));
    const config = `provider_installation {\n  filesystem_mirror {\n    path = ${mirror}\n    include = ["gantry/gantry"]\n  }\n}\n`;
    await writeFile(join(this.#dir, 'rc.hcl'), config);
    await writeFile(join(this.#dir, 'hook.cjs'), hook);
    this.#bareMs = median(await timesOf(rounds, () => run(process.execPath, ['-e', '0']), this.#context.signal));
  }

  /** CPU time up to the handshake; the kernel counts it in hundredths of a second. */
  async starts(main: string): Promise<readonly Row[]> {
    this.#context.say('terraform: starts of the plugin');
    const samples: number[] = [];
    for (let round = 0; round < 3 * rounds; round += 1) {
      const env = {
        ...process.env,
        TF_PLUGIN_MAGIC_COOKIE: 'd602bf8f470bc67ca7faa0386276bbdd4330efaf76d1a219cb4d6991ca9872b2',
      };
      const child = spawn(process.execPath, [main], { env, stdio: ['ignore', 'pipe', 'inherit'] });
      await new Promise((resolve) => child.stdout.once('data', resolve));
      const [user = '0', system = '0'] = readFileSync(`/proc/${child.pid}/stat`, 'utf8').split(' ').slice(13, 15);
      samples.push((Number(user) + Number(system)) * 10);
      const ended = new Promise((resolve) => child.once('exit', resolve));
      child.kill('SIGTERM');
      await ended;
    }
    return [row('start to handshake, CPU', samples, 120)];
  }

  async plans(count: number): Promise<readonly Row[]> {
    this.#context.say(`terraform: plans of ${count}, after an apply`);
    const [own, data] = [
      await this.#project(`ours-${count}`, oursOf(count)),
      await this.#project(`data-${count}`, dataOf(count)),
    ];
    const [ownMs, dataMs, alone, cpu]: number[][] = [[], [], [], []];
    for (let round = 0; round < rounds; round += 1) {
      await rm(this.#cpuFile, { force: true });
      ownMs?.push(...(await timesOf(1, () => this.#terraform(own, 'plan'), this.#context.signal)));
      const lines = existsSync(this.#cpuFile) ? readFileSync(this.#cpuFile, 'utf8').trim().split('\n').map(Number) : [];
      cpu?.push(lines.reduce((sum, each) => sum + each, 0));
      dataMs?.push(...(await timesOf(1, () => this.#terraform(data, 'plan'), this.#context.signal)));
      alone?.push(...(await timesOf(1, () => this.#gantryPlan(own), this.#context.signal)));
    }
    await this.#terraform(own, 'destroy', '-auto-approve');
    const base = median(dataMs ?? []);
    const limit = count === 1 ? 1.25 * (base + 3 * this.#bareMs) : 2 * base;
    return [
      row(`plan of ${count} without changes`, ownMs ?? [], limit),
      row(`the same of terraform_data`, dataMs ?? []),
      row(`gantry plan of the same ${count}`, alone ?? [], count === 1 ? undefined : median(ownMs ?? []) / 5),
      ...(count === 1
        ? [row('a bare start of Node', [this.#bareMs])]
        : [
            row(
              'CPU of the plugin, each resource',
              (cpu ?? []).map((each) => each / count),
              1,
            ),
          ]),
    ];
  }

  get #cpuFile(): string {
    return join(this.#dir, 'cpu');
  }

  async #project(name: string, config: object): Promise<string> {
    const cwd = join(this.#dir, name);
    await mkdir(cwd);
    await writeFile(join(cwd, 'main.tf.json'), JSON.stringify(config));
    await this.#terraform(cwd, 'init');
    await this.#terraform(cwd, 'apply', '-auto-approve');
    return cwd;
  }

  /** The same directory with existing objects, without Terraform. */
  async #gantryPlan(cwd: string): Promise<void> {
    const argv = ['dist/bin/gantry.js', 'plan', '-f', cwd, '--host', this.#address];
    await run(process.execPath, argv, { signal: this.#context.signal, maxBuffer: 256 * 1024 * 1024 });
  }

  #terraform(cwd: string, ...args: readonly string[]): Promise<unknown> {
    const env = {
      ...process.env,
      TF_CLI_CONFIG_FILE: join(this.#dir, 'rc.hcl'),
      CHECKPOINT_DISABLE: '1',
      GANTRY_ADDRESS: this.#address,
      NODE_OPTIONS: `--require ${join(this.#dir, 'hook.cjs')}`,
      BENCH_CPU_FILE: this.#cpuFile,
    };
    return run('terraform', [...args], { cwd, env, signal: this.#context.signal, maxBuffer: 256 * 1024 * 1024 });
  }
}
