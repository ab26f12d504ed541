// One case of a law on a daemon: a fresh simulated gantryd, and the commands that laws run on it.
import { join } from 'node:path';
import { expect } from 'vitest';
import { cli, type CliRun } from '../support/cli/io.ts';
import { repository } from '../support/cli/programs.ts';
import { openMemoryDaemon, type MemoryDaemon } from '../support/daemons/in-memory.ts';

/** A fresh daemon for one case. */
export async function onDaemon(work: (daemon: MemoryDaemon) => Promise<void>): Promise<void> {
  const daemon = await openMemoryDaemon();
  try {
    await work(daemon);
  } finally {
    await daemon.close();
  }
}

/** The daemon library from the sources: tests must not run an outdated build. */
export const env = { GANTRY_DAEMON_LIBRARY: join(repository, 'server', 'daemon', 'embedded.ts') };

export async function gantry(daemon: Pick<MemoryDaemon, 'host'>, ...args: readonly string[]): Promise<CliRun> {
  return cli([...args, '--host', daemon.host], { env });
}

export async function apply(daemon: MemoryDaemon, ...args: readonly string[]): Promise<CliRun> {
  const run = await gantry(daemon, 'apply', '--auto-approve', ...args);
  expect(run.code, `${run.stdout}\n${run.stderr}`).toBe(0);
  return run;
}

export async function expectSettled(daemon: MemoryDaemon, ...args: readonly string[]): Promise<void> {
  const run = await gantry(daemon, 'plan', '--detailed-exitcode', ...args);
  expect(run.code, `a second plan\n${run.stdout}\n${run.stderr}`).toBe(0);
  expect(run.stdout).toMatch(/^No changes/);
}
