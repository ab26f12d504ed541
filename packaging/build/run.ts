// Runs a program of the host for packaging, and fails with what it said.
import { spawnSync } from 'node:child_process';

/** Its standard output, trimmed. */
export function run(program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): string {
  const ran = spawnSync(program, args, {
    encoding: 'utf8',
    env: { ...process.env, ...env },
    maxBuffer: 64 * 1024 * 1024,
  });
  if (ran.error !== undefined) throw new Error(`${program} cannot be run: ${ran.error.message}`, { cause: ran.error });
  if (ran.status !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${ran.status}: ${ran.stderr.trim()}`);
  return ran.stdout.trim();
}
