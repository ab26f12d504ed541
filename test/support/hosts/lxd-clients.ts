// The stock clients of LXD for tests: `lxc` with a separate config directory, pylxd, and Ansible's modules.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
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

export function runProgram(file: string, args: readonly string[], options: RunOptions = {}): Promise<Ran> {
  return new Promise((resolve) => {
    const env = { ...process.env, ...options.env };
    const child = execFile(
      file,
      [...args],
      { env, timeout: options.limitMs ?? 120_000, maxBuffer: 1 << 26 },
      (error, stdout, stderr) => {
        const code = error === null ? 0 : typeof error.code === 'number' ? error.code : -1;
        resolve({ code, stdout, stderr });
      },
    );
    child.stdin?.on('error', () => {});
    child.stdin?.end(options.stdin ?? '');
  });
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
