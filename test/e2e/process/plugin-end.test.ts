// The end of the Terraform plugin: it ends after its Terraform was killed, at any moment and however it was started, and only then.
import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync, openSync, closeSync, mkdtempSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { cookie } from '../../../provider/wire/plugin.ts';
import { providerService } from '../../../provider/wire/calls.ts';
import { call, makeDaemon, type TestDaemon } from '../../support/daemons/daemon.ts';
import { plainEnv } from '../../support/cli/programs.ts';
import { grpcClient } from '../../support/terraform/grpc-client.ts';
import { newMark, type Mark } from '../../support/hosts/marked-processes.ts';
import { isLongRun } from '../../support/left-out.ts';
import { seededRandom } from '../../support/random.ts';
import { makeRelease, Terraform, terraformMissing, type Release } from '../../support/terraform/terraform.ts';
import { until } from '../../support/until.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const kills = Number(process.env['KILLS'] ?? (isLongRun ? 4 : 1));

let release: Release;
const scratch = tempFolder('gpe-');
const marks: Mark[] = [];
beforeAll(async () => {
  release = await makeRelease();
});
afterEach(() => {
  for (const mark of marks.splice(0)) mark.killAll();
});

function mark(): Mark {
  const made = newMark();
  marks.push(made);
  return made;
}

interface Started {
  readonly child: ChildProcess;
  readonly mark: Mark;
  readonly socketPath: string;
  /** The directory of the plugin's socket. */
  readonly folder: string;
}

/** `stderr`: a pipe to this test, or a file descriptor as in a debugger's terminal. */
async function startPlugin(stderr: 'pipe' | number = 'pipe'): Promise<Started> {
  const folder = mkdtempSync(join(scratch, 'p-'));
  const found = mark();
  const folders = join(release.directory, 'mirror/registry.terraform.io/gantry/gantry', release.version);
  const program = join(folders, 'linux_amd64', `terraform-provider-gantry_v${release.version}`);
  const env = { ...plainEnv(), ...found.env, TMPDIR: folder, [cookie.name]: cookie.value };
  const child = spawn(program, [], { env, stdio: ['ignore', 'pipe', stderr] });
  child.stderr?.on('error', () => {});
  const line = await new Promise<string>((resolve) => createInterface({ input: child.stdout! }).once('line', resolve));
  return { child, mark: found, socketPath: line.split('|')[3] ?? '', folder };
}

const health = '/grpc.health.v1.Health/Check';

describe('the plugin', () => {
  test('The plugin ends when its log stream and its connection are gone, although its parent process lives', async () => {
    const { child, mark: found, socketPath, folder } = await startPlugin();
    const client = grpcClient(socketPath);
    expect((await client.call(health)).status).toBe(0);
    child.stdout?.destroy();
    child.stderr?.destroy();
    client.close();
    await until(() => found.alive().length === 0);
    expect(existsSync(socketPath)).toBe(false);
    expect(readdirSync(folder)).toEqual([]);
  });

  test('The plugin ends when its log has no reader and an answer cannot be logged, instead of logging that failure', async () => {
    const { child, mark: found, socketPath } = await startPlugin();
    child.stdout?.destroy();
    child.stderr?.destroy();
    const client = grpcClient(socketPath);
    // The plugin logs a message that it cannot decode as an error.
    await client.call(`${providerService}ReadResource`, Buffer.from([0x0a, 0xff, 0x01])).catch(() => {});
    await until(() => found.alive().length === 0);
    client.close();
  });

  test('The plugin ends when no client ever connects and the log stream is gone', async () => {
    const { child, mark: found } = await startPlugin();
    child.stdout?.destroy();
    child.stderr?.destroy();
    await until(() => found.alive().length === 0);
  });

  test('The plugin lives without a connection while its log has a reader or is a file, and serves the next one', async () => {
    const file = openSync(join(scratch, 'log'), 'w');
    const full = openSync('/dev/full', 'w');
    const plugins = await Promise.all([startPlugin(), startPlugin(file), startPlugin(full)]);
    closeSync(file);
    closeSync(full);
    for (const { socketPath } of plugins) {
      const first = grpcClient(socketPath);
      expect((await first.call(health)).status).toBe(0);
      first.close();
    }
    await new Promise((resolve) => setTimeout(resolve, 4_000));
    for (const { socketPath } of plugins) {
      const second = grpcClient(socketPath);
      expect((await second.call(health)).status).toBe(0);
      second.close();
    }
  });

  test('The plugin lives while it and its parent are stopped and continued, as by Ctrl-Z and fg', async () => {
    const { child, socketPath } = await startPlugin();
    const client = grpcClient(socketPath);
    expect((await client.call(health)).status).toBe(0);
    child.kill('SIGSTOP');
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    child.kill('SIGCONT');
    expect((await client.call(health)).status).toBe(0);
    client.close();
  });
});

const missing = terraformMissing('plugins of a killed Terraform');
const profiles = isLongRun ? 400 : 60;

describe.skipIf(missing !== undefined)('Terraform', { timeout: 120_000 * kills }, () => {
  let daemon: TestDaemon;
  let terraform: Terraform;
  beforeAll(async () => {
    daemon = await makeDaemon();
    terraform = new Terraform(release, { address: `unix://${daemon.socketPath}` });
    terraform.write(`resource "gantry_profile" "p" {
  count  = ${profiles}
  name   = "p\${count.index}"
  config = { "user.index" = tostring(count.index) }
}
`);
    await terraform.init();
  });
  afterAll(() => daemon?.cleanUp());

  interface Profile {
    readonly name: string;
    readonly config: Readonly<Record<string, string>>;
  }
  const made = async (): Promise<readonly Profile[]> => {
    const { metadata } = await call(daemon, 'GET', '/1.0/profiles?recursion=1');
    return (metadata as Profile[]).filter(({ name }) => name !== 'default');
  };

  test('A Terraform killed at random moments of an apply leaves no plugin, and no half-made object on the server', async () => {
    const random = seededRandom();
    const counts: number[] = [];
    for (let round = 0; round < kills; round += 1) {
      const found = mark();
      Object.assign(terraform.env, found.env);
      // The kill depends on progress, not on time, so it hits the apply on every machine.
      const enough = Math.floor(random.next() * profiles * 0.9);
      const ran = await terraform.run(['apply', '-auto-approve', '-input=false', '-parallelism=10'], {
        started(child) {
          void until(async () => (await made()).length >= enough, 110_000).then(() => child.kill('SIGKILL'));
        },
      });
      expect(ran.signal, ran.output).toBe('SIGKILL');
      await until(() => found.alive().length === 0).catch((error: unknown) => {
        throw new Error(`seed ${random.seed}, round ${round}, killed at ${enough}: ${found.alive().join('\n')}`, {
          cause: error,
        });
      });
      const left = await made();
      counts.push(left.length);
      for (const { name, config } of left) expect(config['user.index'], name).toBe(name.slice(1));
      for (const { name } of left) await call(daemon, 'DELETE', `/1.0/profiles/${name}`);
      rmSync(join(terraform.dir, 'terraform.tfstate'), { force: true });
    }
    console.log(`profiles made before each kill: ${counts.join(', ')}`);
  });
});
