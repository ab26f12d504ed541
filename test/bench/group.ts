// What a group of measurements is given and gives back, and the stopwatch they share.
import { setTimeout as pause } from 'node:timers/promises';
import type { Row } from './report.ts';
import type { Server } from './servers.ts';

export interface BenchContext {
  /** Every server of this run, set up and empty. */
  readonly servers: readonly Server[];
  /** How many containers there are to create and to list. */
  readonly containers: number;
  /** Progress, for whoever watches. */
  readonly say: (text: string) => void;
  readonly signal: AbortSignal;
}

export type Group = (context: BenchContext) => Promise<readonly Row[]>;

/** Milliseconds of each of `count` runs, one after the other. */
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

/** What a server still writes after its answer would be waited for by the next one's writes. */
const settleMs = 300;

/**
 * The same by server, the servers taking turns of `block` runs: what disturbs the machine meanwhile disturbs all of them, and
 * within a turn none waits for another's writes.
 */
export async function takingTurns(
  servers: readonly Server[],
  { count, block }: { readonly count: number; readonly block: number },
  work: (server: Server, index: number) => Promise<unknown>,
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
