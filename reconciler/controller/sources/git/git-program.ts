// Runs git with an argument vector, its own environment, a time limit and bounded output; never through a shell.
import { spawn } from 'node:child_process';
import { confined } from '../../../../server/lib/confined.ts';
import { type SourceError, sourceErrors } from '../source.ts';
import { explainGit } from './explain-git.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

export interface GitCall {
  readonly args: readonly string[];
  readonly cwd?: string;
  readonly input?: string | Uint8Array;
  /** In addition to the environment of the program. */
  readonly env?: Readonly<Record<string, string>>;
  /** Exit codes that are not failures; default [0]. */
  readonly okCodes?: readonly number[];
  /** Max bytes of output; default 16 MiB. Longer output is a `limit` problem, or truncated with `cuts`. */
  readonly maxBytes?: number;
  readonly cuts?: boolean;
  /** Receives the output in chunks instead of collecting it; an exception ends the program and is rethrown. */
  readonly onOutput?: (chunk: Buffer) => void;
  /** Called four times a second; throws to end the program. */
  readonly watch?: () => Promise<void>;
}

export interface GitAnswer {
  readonly code: number;
  readonly stdout: Buffer;
  readonly stderr: string;
}

export interface GitProgram {
  run(call: GitCall, signal?: AbortSignal): Promise<GitAnswer>;
}

export interface GitProgramOptions {
  /** The whole environment: nothing of this process is inherited. */
  readonly env: Readonly<Record<string, string>>;
  /** Names the repository in messages. */
  readonly shown: string;
  /** Texts that messages must not quote. */
  readonly secrets?: readonly string[];
  readonly program?: string;
  /** Confines writes to these folders, and allows sockets only for calls to another server. Undefined: not confined. */
  readonly folders?: readonly string[];
  /** The user's own repository: hooks, credential helpers, questions on the terminal and signing stay enabled. */
  readonly isOwn?: boolean;
}

const maxOutput = 16 * 1024 * 1024;
const maxErrors = 64 * 1024;
const watchMs = 250;

/** Settings that override those of repositories and servers. */
const always = [
  ['protocol.ext.allow', 'never'],
  ['core.hooksPath', '/dev/null'],
  ['core.fsmonitor', 'false'],
  ['submodule.recurse', 'false'],
  ['fetch.recurseSubmodules', 'false'],
  ['gc.auto', '0'],
  ['maintenance.auto', 'false'],
  ['advice.detachedHead', 'false'],
  ['credential.helper', ''],
].flatMap(([key, value]) => ['-c', `${key ?? ''}=${value ?? ''}`]);

export function createGitProgram(options: GitProgramOptions): GitProgram {
  return { run: (call, signal) => run(options, call, signal) };
}

async function run(options: GitProgramOptions, call: GitCall, signal: AbortSignal | undefined): Promise<GitAnswer> {
  signal?.throwIfAborted();
  const isOwn = options.isOwn === true;
  const [file = '', ...args] = commandLine(options, call);
  const child = spawn(file, args, {
    stdio: ['pipe', 'pipe', 'pipe'],
    // A separate process group, so that git's helpers (ssh, index-pack) end with it. It has no terminal then.
    detached: !isOwn,
    env: { ...options.env, ...call.env },
    ...withoutUndefined({ cwd: call.cwd }),
  });
  const limit = call.maxBytes ?? maxOutput;
  const chunks: Buffer[] = [];
  let bytes = 0;
  let errors = '';
  let failure: unknown;
  const end = (reason: unknown): void => {
    failure ??= reason;
    // On SIGTERM git removes its lock files.
    if (isOwn) child.kill();
    else endGroup(child.pid);
  };
  const abort = (): void => end(signal?.reason);
  signal?.addEventListener('abort', abort, { once: true });
  const stopWatching = watching(call.watch, end);
  child.stdin.on('error', () => undefined);
  child.stdin.end(call.input ?? '');
  child.stdout.on('data', (chunk: Buffer) => {
    if (failure !== undefined) return;
    bytes += chunk.length;
    if (bytes > limit) {
      if (call.cuts !== true) end(sourceErrors.limit(`git ${verbOf(call)} wrote more than ${limit} bytes`));
      return;
    }
    try {
      if (call.onOutput === undefined) chunks.push(chunk);
      else call.onOutput(chunk);
    } catch (error) {
      end(error);
    }
  });
  child.stderr.on('data', (chunk: Buffer) => {
    if (errors.length < maxErrors) errors += chunk.toString('utf8');
  });
  try {
    const code = await new Promise<number>((resolve, reject) => {
      child.on('error', reject);
      child.on('close', (status) => resolve(status ?? -1));
    });
    if (failure !== undefined) throw failure;
    // The confining wrapper reports a missing program with this code.
    if (options.folders !== undefined && code === notFound) throw missingGit(options, new Error(errors.trim()));
    if (!(call.okCodes ?? [0]).includes(code)) throw explainGit(verbOf(call), options, errors, code);
    return { code, stdout: Buffer.concat(chunks), stderr: errors };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT' && failure === undefined) throw missingGit(options, error);
    throw error;
  } finally {
    signal?.removeEventListener('abort', abort);
    stopWatching();
    if (!isOwn) endGroup(child.pid);
  }
}

const notFound = 127;
const verbsOfNetwork = ['fetch', 'ls-remote', 'clone', 'push'];

/** Distrusts packs and objects. Allows reading a repository of this host that another user owns. */
function commandLine({ program = 'git', isOwn, folders }: GitProgramOptions, call: GitCall): readonly string[] {
  const argv = [program, ...(isOwn === true ? [] : always), ...call.args];
  if (folders === undefined) return argv;
  const isServer = verbsOfNetwork.includes(verbOf(call));
  return confined({ argv, confinement: { writes: folders, keeps: ['dac_read_search'], isServer } });
}

const verbOf = (call: GitCall): string =>
  call.args.find((arg, at) => !arg.startsWith('-') && call.args[at - 1] !== '-c') ?? '';

function endGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, 'SIGKILL');
  } catch {
    // The whole group has ended already.
  }
}

function watching(watch: (() => Promise<void>) | undefined, end: (reason: unknown) => void): () => void {
  if (watch === undefined) return () => undefined;
  let isBusy = false;
  const timer = setInterval(() => {
    if (isBusy) return;
    isBusy = true;
    watch()
      .catch(end)
      .finally(() => (isBusy = false));
  }, watchMs);
  return () => clearInterval(timer);
}

const missingGit = (options: GitProgramOptions, cause: unknown): SourceError =>
  sourceErrors.unavailable(
    `cannot read ${options.shown}: the program ${options.program ?? 'git'} is not installed; install the package git${
      options.isOwn === true ? '' : ', or use a source of kind archive or oci'
    }`,
    { cause },
  );
