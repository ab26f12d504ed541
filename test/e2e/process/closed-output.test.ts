// Programs whose output has lost its reader or has no space left: they end quickly, quietly, with a sensible exit code.
import { spawn, type ChildProcess } from 'node:child_process';
import { closeSync, openSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { call, makeDaemon, type TestDaemon } from '../../support/daemons/daemon.ts';
import { buildPrograms, plainEnv, repository } from '../../support/cli/programs.ts';
import { newMark, type Mark } from '../../support/hosts/marked-processes.ts';
import { isLongRun } from '../../support/left-out.ts';
import { seededRandom } from '../../support/random.ts';
import { until } from '../../support/until.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const programs = buildPrograms();
let daemon: TestDaemon;
const folder = tempFolder('gco-');
let manifest: string;
beforeAll(async () => {
  daemon = await makeDaemon();
  manifest = join(folder, 'many.yaml');
  // The plan exceeds the capacity of a pipe.
  const one = (index: number): string =>
    `kind: profile\nname: p${index}\ndescription: ${'x'.repeat(2_000)}\nconfig: { user.a: '${index}' }\n`;
  writeFileSync(manifest, Array.from({ length: 50 }, (_, index) => one(index)).join('---\n'));
});
const marks: Mark[] = [];
afterEach(() => {
  for (const mark of marks.splice(0)) mark.killAll();
});
afterAll(() => daemon?.cleanUp());

/** `gone`: the reader closes its end. `full`: /dev/full, where no byte fits. `read`: a reader that takes everything. */
type Target = 'gone' | 'full' | 'read';

interface Ended {
  readonly code: number | null;
  readonly signal: string | null;
  readonly stdout: string;
  readonly stderr: string;
}

interface Setting {
  readonly stdout: Target;
  readonly stderr: Target;
  /** When the readers close; default: at once. */
  readonly closeAfterMs?: number;
}

async function ends(program: string, args: readonly string[], setting: Setting): Promise<Ended> {
  const mark = newMark();
  marks.push(mark);
  const full = openSync('/dev/full', 'w');
  const stdio = (target: Target): 'pipe' | number => (target === 'full' ? full : 'pipe');
  const env = { ...plainEnv(), ...mark.env, XDG_STATE_HOME: folder, GANTRY_SOCKET: daemon.socketPath };
  const child = spawn(process.execPath, [program, ...args], {
    env,
    cwd: folder,
    stdio: ['ignore', stdio(setting.stdout), stdio(setting.stderr)],
  });
  closeSync(full);
  const exit = new Promise<Pick<Ended, 'code' | 'signal'>>((resolve) =>
    child.once('exit', (code, signal) => resolve({ code, signal })),
  );
  const texts = { stdout: '', stderr: '' };
  for (const name of ['stdout', 'stderr'] as const) {
    child[name]?.setEncoding('utf8').on('data', (chunk: string) => (texts[name] += chunk));
  }
  await new Promise((resolve) => setTimeout(resolve, setting.closeAfterMs ?? 0));
  closeReaders(child, setting);
  const ended = await exit;
  await until(() => mark.alive().length === 0);
  return { ...ended, ...texts };
}

function closeReaders(child: ChildProcess, setting: Setting): void {
  if (setting.stdout === 'gone') child.stdout?.destroy();
  if (setting.stderr === 'gone') child.stderr?.destroy();
}

test('one file of the command line has the streams of its process, so verbs do not differ in how they write', () => {
  const room = join(repository, 'reconciler');
  const files = readdirSync(room, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  const writing = files.filter((file) =>
    /\bprocess\.std(out|err)\b|\bconsole\.(log|warn|error)\(/.test(
      readFileSync(join(room, file), 'utf8').replaceAll(/'[^'\n]*'|`[^`]*`/g, ''),
    ),
  );
  expect(writing.filter((file) => !file.startsWith('web/'))).toEqual(['cli/output/process-io.ts']);
});

describe('gantry', () => {
  test('exits with 1 and the reason when its output has no space', async () => {
    const words = ['apply', '-f', 'many.yaml', '--auto-approve', '--json'];
    const ended = await ends(programs.gantry, words, { stdout: 'full', stderr: 'read' });
    const stderr = 'Error: Cannot write to standard output: ENOSPC: no space left on device, write\n';
    expect(ended).toEqual({ code: 1, signal: null, stdout: '', stderr });
    // The exit code is the same when the message cannot be written either.
    expect((await ends(programs.gantry, words, { stdout: 'full', stderr: 'full' })).code).toBe(1);
  });

  test('events and drift --watch in a pipeline end at once when the other end has gone, though nothing happens', async () => {
    const all = ['events --json', 'drift --watch -f many.yaml'].map(async (words) => {
      const mark = newMark();
      marks.push(mark);
      const env = { ...plainEnv(), ...mark.env, XDG_STATE_HOME: folder, GANTRY_SOCKET: daemon.socketPath };
      // The reader takes nothing, and ends once the listener is connected.
      const script = `"${process.execPath}" "${programs.gantry}" ${words} 2>/dev/null | sleep 4; echo "\${PIPESTATUS[0]}"`;
      const child = spawn('bash', ['-c', script], { env, cwd: folder, stdio: ['ignore', 'pipe', 'ignore'] });
      let stdout = '';
      child.stdout.setEncoding('utf8').on('data', (chunk: string) => (stdout += chunk));
      await new Promise((resolve) => child.once('close', resolve));
      await until(() => mark.alive().length === 0);
      return stdout;
    });
    expect(await Promise.all(all)).toEqual(['141\n', '141\n']);
  });

  test('run ends when its output has no reader, as after Ctrl-C', async () => {
    for (const stdout of ['gone', 'read'] as const) {
      const args = ['run', '-f', 'many.yaml', '--auto-approve'];
      const ended = await ends(programs.gantry, args, { stdout, stderr: 'gone' });
      expect(ended.code, ended.stdout).toBe(141);
    }
  });

  test('An apply that loses its readers at a random moment ends, its lock is free, and the next one creates the rest', async () => {
    const random = seededRandom();
    const rounds = Number(process.env['KILLS'] ?? (isLongRun ? 3 : 1));
    for (let round = 0; round < rounds; round += 1) {
      for (const { name } of (await call(daemon, 'GET', '/1.0/profiles?recursion=1')).metadata as { name: string }[]) {
        if (name !== 'default') await call(daemon, 'DELETE', `/1.0/profiles/${name}`);
      }
      const closeAfterMs = Math.floor(random.next() * 2_500);
      const stdout = random.next() < 0.7 ? 'gone' : 'read';
      const args = ['apply', '-f', 'many.yaml', '--auto-approve', ...(random.next() < 0.5 ? ['--json'] : [])];
      const ended = await ends(programs.gantry, args, { stdout, stderr: 'gone', closeAfterMs });
      const what = `seed ${random.seed}, round ${round}: ${args.join(' ')} closed after ${closeAfterMs} ms`;
      expect([0, 141], what).toContain(ended.code);
      const next = await ends(programs.gantry, ['apply', '-f', 'many.yaml', '--auto-approve'], {
        stdout: 'read',
        stderr: 'read',
      });
      expect(next.code, `${what}\n${next.stderr}`).toBe(0);
    }
  });
});

describe('gantryd', () => {
  test('openapi exits with 141 and no message without a reader, and with 1 and the reason on a full disk', async () => {
    const gone = await ends(programs.gantryd, ['openapi'], { stdout: 'gone', stderr: 'read' });
    expect([gone.code, gone.stderr]).toEqual([141, '']);
    const full = await ends(programs.gantryd, ['openapi'], { stdout: 'full', stderr: 'read' });
    expect([full.code, full.stderr]).toEqual([
      1,
      'gantryd: cannot write to standard output: ENOSPC: no space left on device, write\n',
    ]);
  });

  test.each(['gone', 'full'] as const)(
    'gantryd keeps serving when its standard streams are %s, also when it logs and its terminal hangs up',
    async (target) => {
      const mark = newMark();
      marks.push(mark);
      const stateDir = tempFolder('gcd-');
      const full = openSync('/dev/full', 'w');
      const stdio = target === 'full' ? full : 'pipe';
      const args = [programs.gantryd, '--state-dir', stateDir, '--runtime', 'sim', '--log-level', 'debug'];
      const child = spawn(process.execPath, args, {
        env: { ...plainEnv(), ...mark.env },
        stdio: ['ignore', stdio, stdio],
      });
      closeSync(full);
      child.stdout?.destroy();
      child.stderr?.destroy();
      const exit = new Promise((resolve) => child.once('exit', (code) => resolve(code)));
      const wire = { socketPath: join(stateDir, 'unix.socket') };
      const name = (): Promise<boolean> =>
        call(wire, 'GET', '/1.0').then(
          ({ status }) => status === 200,
          () => false,
        );
      await until(name);
      child.kill('SIGHUP');
      for (let index = 0; index < 50; index += 1) await call(wire, 'POST', '/1.0/profiles', { name: `p${index}` });
      expect(await name()).toBe(true);
      child.kill('SIGTERM');
      expect(await exit).toBe(0);
      await until(() => mark.alive().length === 0);
      rmSync(stateDir, { recursive: true, force: true });
    },
  );
});
