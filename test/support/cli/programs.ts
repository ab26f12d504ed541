// The shipped programs, bundled as `npm run build` bundles them, in a separate directory that any user can read; runs them as
// processes, also on a terminal. Starts no daemon: that is gantryd.ts.
import { execFileSync, spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { chmodSync, cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { startProgram } from '../../../server/lib/start-program.ts';
import { copyBuilt, keepBuilt } from '../built-once.ts';
import { replaceTaken, type Replacements } from '../hosts/free-resources.ts';
import { tempFolder } from '../temp-folder.ts';

export const repository = fileURLToPath(new URL('../../..', import.meta.url)).replace(/\/$/, '');

export interface Programs {
  /** Has package.json, examples/ and dist/ like a checkout after the build. */
  readonly root: string;
  readonly gantry: string;
  readonly gantryd: string;
  /** The examples in `root` have subnets and ports that are free on this machine. */
  readonly replaced: Replacements;
}

export function buildPrograms(): Programs {
  const root = tempFolder('gte-');
  cpSync(join(repository, 'package.json'), join(root, 'package.json'));
  cpSync(join(repository, 'examples'), join(root, 'examples'), { recursive: true });
  const replaced = freeExamples(join(root, 'examples'));
  const bin = buildBelow(root);
  return { root, gantry: join(bin, 'gantry.js'), gantryd: join(bin, 'gantryd.js'), replaced };
}

/** The daemon alone. */
export const buildDaemon = (): string => join(buildBelow(tempFolder('gtd-')), 'gantryd.js');

/** The folder of the programs. */
function buildBelow(root: string): string {
  chmodSync(root, 0o755);
  symlinkSync(join(repository, 'node_modules'), join(root, 'node_modules'));
  const dist = join(root, 'dist');
  if (!copyBuilt('programs', dist)) {
    if (!copyPrograms(dist)) bundlePrograms(dist);
    writeFileSync(join(dist, 'package.json'), '{"type":"module"}\n');
    keepBuilt('programs', dist);
  }
  return join(dist, 'bin');
}

/** False when a source has changed since the build of this checkout: tests must not run an outdated build. */
function copyPrograms(dist: string): boolean {
  if (spawnSync('npm', ['run', '-s', 'is:built'], { cwd: repository }).status !== 0) return false;
  for (const part of ['bin', 'prebuilds', 'code-cache', 'examples/quickstart/demo.js'])
    cpSync(join(repository, 'dist', part), join(dist, part), { recursive: true, verbatimSymlinks: true });
  return true;
}

function bundlePrograms(dist: string): void {
  const manifest = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as {
    scripts: Readonly<Record<'bundle:modules' | 'bundle:cache', string>>;
  };
  const bin = join(dist, 'bin');
  mkdirSync(bin, { recursive: true });
  const env = { ...process.env, PATH: `${join(repository, 'node_modules', '.bin')}:${process.env['PATH'] ?? ''}` };
  const scripts = `${manifest.scripts['bundle:modules']} && ${manifest.scripts['bundle:cache']}`;
  const bundle = scripts.replaceAll(/\bdist(?=\/(?:bin|prebuilds|code-cache)\b)/g, dist);
  execFileSync('sh', ['-c', bundle], { cwd: repository, env, stdio: ['ignore', 'ignore', 'inherit'] });
  const demo = ['examples/quickstart/demo.ts', `--outfile=${join(dist, 'examples/quickstart/demo.js')}`];
  execFileSync('esbuild', [...demo, '--log-level=warning'], { cwd: repository, env, stdio: 'inherit' });
}

function freeExamples(folder: string): Replacements {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.(yaml|yml|json|tf|ts)$/.test(entry.name))
    .map((entry) => join(entry.parentPath, entry.name));
  const texts = files.map((file) => readFileSync(file, 'utf8'));
  const replaced = replaceTaken(texts);
  for (const [index, file] of files.entries()) writeFileSync(file, replaced.here(texts[index] ?? ''));
  return replaced;
}

export interface Ran {
  readonly code: number;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly elapsedMs: number;
}

export interface RunSetting {
  readonly cwd?: string;
  /** Added to a small environment without colours, credentials or CI marks. */
  readonly env?: Readonly<Record<string, string>>;
  readonly stdin?: string;
  readonly user?: number;
  /** Called with the process as soon as it runs. */
  readonly started?: (child: ChildProcess) => void;
  /** Called with all output so far at each new output. */
  readonly heard?: (text: string, child: ChildProcess) => void;
}

export function plainEnv(): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '/usr/bin:/bin',
    HOME: tmpdir(),
    TMPDIR: tmpdir(),
    TERM: 'xterm',
    LANG: 'C.UTF-8',
    // As in `cli` of io.ts.
    GANTRY_PLACE: 'tests',
  };
}

export function runProcess(argv: readonly string[], setting: RunSetting = {}): Promise<Ran> {
  const { user, started, heard } = setting;
  return user === undefined && started === undefined && heard === undefined
    ? runQuickly(argv, setting)
    : runWatched(argv, setting);
}

/** Without a fork, which takes 20 ms and more of a large test process. */
async function runQuickly(argv: readonly string[], { cwd, env, stdin }: RunSetting): Promise<Ran> {
  const startedAt = performance.now();
  const child = startProgram({ argv, env: { ...plainEnv(), ...env }, cwd, stdio: ['pipe', 'pipe', 'pipe'] });
  // Programs may end without reading all of it.
  child.stdin.on('error', () => {});
  child.stdin.end(stdin);
  const ended = new Promise<Pick<Ran, 'code' | 'signal'>>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code, signal) => resolve({ code: code ?? -1, signal }));
  });
  const [end, stdout, stderr] = await Promise.all([ended, text(child.stdout), text(child.stderr)]);
  return { ...end, stdout, stderr, elapsedMs: performance.now() - startedAt };
}

function runWatched(argv: readonly string[], setting: RunSetting): Promise<Ran> {
  const startedAt = performance.now();
  const child = spawn(argv[0] ?? '', argv.slice(1), {
    ...(setting.cwd === undefined ? {} : { cwd: setting.cwd }),
    env: { ...plainEnv(), ...setting.env },
    stdio: ['pipe', 'pipe', 'pipe'],
    ...(setting.user === undefined ? {} : { uid: setting.user, gid: setting.user }),
  });
  setting.started?.(child);
  let [stdout, stderr] = ['', ''];
  const heard = (): void => setting.heard?.(stdout + stderr, child);
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
    stdout += chunk;
    heard();
  });
  child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
    stderr += chunk;
    heard();
  });
  // Programs may end without reading all of it.
  child.stdin.on('error', () => {});
  if (setting.stdin !== undefined) child.stdin.end(setting.stdin);
  else if (setting.heard === undefined) child.stdin.end();
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code, signal) =>
      resolve({ code: code ?? -1, signal, stdout, stderr, elapsedMs: performance.now() - startedAt }),
    );
  });
}

export const runGantry = (programs: Programs, args: readonly string[], setting: RunSetting = {}): Promise<Ran> =>
  runProcess([process.execPath, programs.gantry, ...args], setting);

export interface TerminalSetting extends Omit<RunSetting, 'heard' | 'stdin'> {
  /** Typed when the output so far ends with the text (without colours). */
  readonly answers?: readonly (readonly [prompt: string, answer: string])[];
  /** Called between reading the prompt and typing. */
  readonly beforeAnswer?: () => Promise<void>;
  readonly columns?: number;
}

/** Runs gantry on a separate terminal, made by `script`; both output streams are in `stdout`. */
export function runOnTerminal(
  programs: Programs,
  args: readonly string[],
  setting: TerminalSetting = {},
): Promise<Ran> {
  const answers = [...(setting.answers ?? [])];
  const words = [process.execPath, programs.gantry, ...args].map(
    (word) => `'${word.replaceAll("'", String.raw`'\''`)}'`,
  );
  const command = `stty cols ${setting.columns ?? 100} rows 40; exec ${words.join(' ')}`;
  let typedUpTo = 0;
  return runProcess(['script', '-qec', command, '/dev/null'], {
    ...setting,
    env: { SHELL: '/bin/sh', ...setting.env },
    heard(text, child) {
      const [next] = answers;
      if (next === undefined || !text.slice(typedUpTo).includes(next[0])) return;
      typedUpTo = text.length;
      answers.shift();
      void (setting.beforeAnswer?.() ?? Promise.resolve()).then(() => child.stdin?.write(next[1]));
    },
  });
}

/** Removes escape sequences for colour and cursor. */
export const withoutEscapes = (text: string): string =>
  // oxlint-disable-next-line no-control-regex
  text.replaceAll(/\u001b\[[0-9;?]*[A-Za-z]/g, '').replaceAll('\r', '');
