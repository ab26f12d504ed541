// The input and output of a group of measurements, and the stopwatch that groups share.
import { setTimeout as pause } from 'node:timers/promises';
import type { Row } from './report.ts';
import type { Server } from './servers.ts';

export interface BenchContext {
  /** Every server of this run, set up and empty. */
  readonly servers: readonly Server[];
  /** Number of containers to create and to list. */
  readonly containers: number;
  /** Reports progress to the terminal. */
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
}

export type Group = (context: BenchContext) => Promise<readonly Row[]>;

/** Milliseconds of each of `count` runs in sequence. */
export async function timesOf(
  count: number,
  work: (index: number) => Promise<unknown>,
  signal: AbortSignal,
): Promise<readonly number[]> {
  const samples: number[] = [];
  for (let index = 0; index < count; index += 1) {
    signal.throwIfAborted();
    const startedAt = performance.now();
    await work(index);
    samples.push(performance.now() - startedAt);
  }
  return samples;
}

/** Delayed writes of one server would slow down the writes of the next one. */
const settleMs = 300;

/**
 * The same by server, with the servers in turns of `block` runs: a disturbance of the machine then affects all of them, and within a
 * turn no server waits for another's writes.
 */
export async function takingTurns<S extends Pick<Server, 'name'>>(
  servers: readonly S[],
  { count, block }: { readonly count: number; readonly block: number },
  work: (server: S, index: number) => Promise<unknown>,
  signal: AbortSignal,
): Promise<Readonly<Record<string, readonly number[]>>> {
  const samples: Record<string, number[]> = {};
  for (let done = 0; done < count; done += block) {
    for (const server of servers) {
      await pause(settleMs, undefined, { signal });
      const found = await timesOf(Math.min(block, count - done), (index) => work(server, done + index), signal);
      (samples[server.name] ??= []).push(...found);
    }
  }
  return samples;
}
