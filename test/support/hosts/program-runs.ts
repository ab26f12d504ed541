// Checks whether a program can be run here, once per process, which runs many test files.
import { spawnSync } from 'node:child_process';

const known = new Map<string, boolean>();

/** It ends with 0. */
export function programRuns(argv: readonly string[], env: Readonly<Record<string, string>> = {}): boolean {
  const key = argv.join('\0');
  const [file = '', ...words] = argv;
  const runs =
    known.get(key) ?? spawnSync(file, words, { stdio: 'ignore', env: { ...process.env, ...env } }).status === 0;
  known.set(key, runs);
  return runs;
}
