// The stock clients of LXD for tests: `lxc` with a separate config directory, pylxd, and Ansible's modules.
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import { startProgram } from '../../../server/lib/start-program.ts';
import { programRuns } from './program-runs.ts';

export interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const module = 'ansible_collections.community.general.plugins.modules.lxd_container';

/** The reason why there is no such client here; undefined when there is. */
export function clientMissing(client: 'lxc' | 'lxd' | 'pylxd' | 'ansible'): string | undefined {
  const probe = {
    lxc: ['lxc', 'version', '--help'],
    lxd: ['lxd', '--version'],
    pylxd: ['/usr/bin/python3', '-c', 'import pylxd'],
    // Ansible itself takes seconds to say so.
    ansible: [
      '/usr/bin/python3',
      '-c',
      `import ansible, sys; from importlib.util import find_spec; sys.exit(find_spec('${module}') is None)`,
    ],
  }[client];
  return programRuns(probe) ? undefined : `${client} is not installed`;
}

export interface RunOptions {
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Default: two minutes. Then the program is ended. */
  readonly limitMs?: number;
}

export async function runProgram(file: string, args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  const env = { ...process.env, ...options.env } as Record<string, string>;
  const child = startProgram({ argv: [file, ...args], env, stdio: ['pipe', 'pipe', 'pipe'] });
  const timer = setTimeout(() => child.kill('SIGKILL'), options.limitMs ?? 120_000);
  child.stdin.on('error', () => {});
  child.stdin.end(options.stdin ?? '');
  const ended = new Promise<number>((resolve) => {
    child.on('error', () => resolve(-1));
    child.on('close', (code) => resolve(code ?? -1));
  });
  const read = (stream: Readable): Promise<string> => text(stream).catch(() => '');
  const [code, stdout, stderr] = await Promise.all([ended, read(child.stdout), read(child.stderr)]);
  clearTimeout(timer);
  return { code, stdout, stderr };
}

export type Lxc = (...words: readonly string[]) => Promise<string>;

/** Its standard output; throws with all output when it fails. `socketDir` has `unix.socket` in it; the client makes `confDir`. */
export function lxcClient(
  socketDir: string,
  confDir: string,
): Lxc & {
  run(words: readonly string[], options?: RunOptions): Promise<Ran>;
  readonly env: Readonly<Record<string, string>>;
} {
  const env = { LXD_DIR: socketDir, LXD_CONF: join(confDir, 'lxc'), HOME: confDir };
  const run = (words: readonly string[], options: RunOptions = {}): Promise<Ran> =>
    runProgram('lxc', ['--quiet', ...words], { ...options, env: { ...env, ...options.env } });
  const strict: Lxc = async (...words) => {
    const ran = await run(words);
    if (ran.code !== 0) throw new Error(`lxc ${words.join(' ')} ended with ${ran.code}: ${ran.stderr}${ran.stdout}`);
    return ran.stdout;
  };
  return Object.assign(strict, { run, env });
}
