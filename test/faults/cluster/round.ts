// One round: clients work before, during and after a fault; then everything settles, and the checker checks their records.
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Random } from '../../support/random.ts';
import { until } from '../../support/until.ts';
import { acknowledged, startClients, type Target } from './clients.ts';
import { check } from './check.ts';
import { describeEntry, type History, longestStall, Recorder, type Seen } from './history.ts';

export interface Round {
  readonly target: Target;
  readonly random: Random;
  /** Unique: objects of a round are new. */
  readonly label: string;
  readonly fault: () => Promise<void>;
  /** Records where containers run while clients work. */
  readonly watch?: (recorder: Recorder, over: AbortSignal) => Promise<void>;
  readonly clients?: number;
}

export interface RoundVerdict {
  readonly acknowledged: number;
  readonly unknown: number;
  readonly requests: number;
  /** Longest time without an acknowledged change, from the fault on. */
  readonly stallMs: number;
  readonly wrong: readonly string[];
}

const objectsOfRound = 5;
/** Acknowledged changes before the fault, and again after it. */
const enough = 25;

export async function runRound({ target, random, label, fault, watch, clients = 9 }: Round): Promise<RoundVerdict> {
  const recorder = new Recorder();
  const objects = Array.from({ length: objectsOfRound }, (_, index) => `${label}-${index}`);
  const over = new AbortController();
  const working = startClients({ target, recorder, random, objects, clients }, over.signal);
  const watching = watch?.(recorder, over.signal);
  const goesOn = async (): Promise<void> => {
    const before = acknowledged(recorder);
    await Promise.race([until(() => acknowledged(recorder) >= before + enough), working]);
  };
  const from = { ms: 0 };
  try {
    await goesOn();
    from.ms = performance.now();
    await fault();
    await goesOn();
  } finally {
    over.abort();
    await Promise.all([working, watching]);
  }
  const to = performance.now();
  const { entries, history } = recorder;
  const { wrong, undecided } = check(history, await atRest(target, objects));
  const kept = objects
    .filter((object) => wrong.some((line) => line.includes(object)))
    .map((object) => keep(object, history));
  return {
    acknowledged: acknowledged(recorder),
    unknown: entries.filter(({ outcome }) => outcome === 'unknown').length,
    requests: entries.length,
    stallMs: longestStall(entries, from.ms, to),
    wrong: [...wrong, ...kept, ...undecided.map((object) => `${object}: too many unknown outcomes to decide`)],
  };
}

/** Saves the answers about an object for the search for the cause. */
function keep(object: string, { entries }: History): string {
  const file = join(mkdtempSync(join(tmpdir(), 'gantry-history-')), `${object}.txt`);
  const lines = entries
    .filter((entry) => entry.object === object)
    .toSorted((a, b) => a.start - b.start)
    .map((entry) => `${describeEntry(entry)}: ${entry.outcome}\n`);
  writeFileSync(file, lines.join(''));
  return `the history of ${object} is in ${file}`;
}

/** The final state, on which every member must agree. */
async function atRest(target: Target, objects: readonly string[]): Promise<ReadonlyMap<string, Seen>> {
  const found = new Map<string, Seen>();
  for (const object of objects) {
    await until(async () => {
      const shown = await target.read(target.members[0]!, object);
      if (shown.outcome === 'ok') found.set(object, shown.saw);
      return shown.outcome === 'ok';
    });
  }
  return found;
}
