// The shipped daemon on the simulation, for tests that kill it.
import { expect } from 'vitest';
import { buildPrograms } from '../cli/programs.ts';
import { remove } from '../hosts/remains.ts';
import { startGantryd, type Gantryd } from './gantryd.ts';

/** Builds the daemon once per file. The returned function runs a test on a new one. */
export function useGantryd(): (work: (gantryd: Gantryd) => Promise<void>) => Promise<void> {
  const programs = buildPrograms();
  return async (work) => {
    const gantryd = await startGantryd(programs, { runtime: 'sim' });
    try {
      await work(gantryd);
    } finally {
      await remove(gantryd, []);
    }
  };
}

/** Expects that the operation which the call starts succeeds. */
export async function done(gantryd: Gantryd, method: string, path: string, body: object): Promise<void> {
  const answer = await gantryd.call(method, path, body);
  expect([path, await gantryd.get(`${String(answer.body.operation)}/wait`)]).toMatchObject([path, { err: '' }]);
}
