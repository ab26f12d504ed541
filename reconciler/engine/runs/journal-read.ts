// Reads journals of earlier runs: lists them, and finds operations of an interrupted run that may still be running.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { runsDirectory, type JournalLine, type JournalPlace } from './journal.ts';

export interface JournalledRun {
  readonly id: string;
  readonly file: string;
  readonly lines: readonly JournalLine[];
}

/** Newest first, without truncated lines. */
export async function readRuns(
  place: Pick<JournalPlace, 'directory' | 'set'>,
  max = 100,
): Promise<readonly JournalledRun[]> {
  const folder = runsDirectory(place);
  const names = await readdir(folder).catch(() => []);
  const newest = names
    .filter((name) => name.endsWith('.ndjson'))
    .sort()
    .reverse()
    .slice(0, max);
  return Promise.all(newest.map((name) => readRun(join(folder, name), name.slice(0, -'.ndjson'.length))));
}

async function readRun(file: string, id: string): Promise<JournalledRun> {
  const text = await readFile(file, 'utf8').catch(() => '');
  const lines = text.split('\n').flatMap((line): JournalLine[] => {
    try {
      return [JSON.parse(line) as JournalLine];
    } catch {
      return [];
    }
  });
  return { id, file, lines };
}

/** Operations of the last run on this host without a recorded end; empty when the run finished. */
export async function openOperations(place: JournalPlace): Promise<readonly string[]> {
  const runs = await readRuns(place, 20);
  const last = runs.find(({ lines }) => lines[0]?.type === 'run' && lines[0].host === place.host);
  if (last === undefined || last.lines.some(({ type }) => type === 'end')) return [];
  const ended = new Set(
    last.lines.flatMap((line) => (line.type === 'done' || line.type === 'failed' ? [line.step] : [])),
  );
  return last.lines.flatMap((line) => (line.type === 'operation' && !ended.has(line.step) ? [line.operation] : []));
}
