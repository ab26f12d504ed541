// Waits for operations that an interrupted run of a set left running on its server.
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from '../../../server/client/client.ts';
import { runsDirectory, type JournalPlace, type JournalLine } from './journal.ts';

/** `note` is called with the description of each operation that is waited for. Its outcome shows in the objects. */
export async function resumeOperations(
  client: Pick<Client, 'operations'>,
  place: JournalPlace,
  note: (operation: string) => void,
  signal: AbortSignal,
): Promise<void> {
  for (const id of await openOperations(place)) {
    const found = await client.operations.get(id, signal).catch(() => undefined);
    if (found === undefined || found.status_code >= 200) continue;
    note(found.description || id);
    await client.operations.wait(found, signal).catch(() => undefined);
    signal.throwIfAborted();
  }
}

interface JournalledRun {
  readonly id: string;
  readonly file: string;
  readonly lines: readonly JournalLine[];
}

/** Reads the journals of earlier runs, the newest first, without truncated lines. */
async function readRuns(place: Pick<JournalPlace, 'directory' | 'set'>, max = 100): Promise<readonly JournalledRun[]> {
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
async function openOperations(place: JournalPlace): Promise<readonly string[]> {
  const runs = await readRuns(place, 20);
  const last = runs.find(({ lines }) => lines[0]?.type === 'run' && lines[0].host === place.host);
  if (last === undefined || last.lines.some(({ type }) => type === 'end')) return [];
  const ended = new Set(
    last.lines.flatMap((line) => (line.type === 'done' || line.type === 'failed' ? [line.step] : [])),
  );
  return last.lines.flatMap((line) => (line.type === 'operation' && !ended.has(line.step) ? [line.operation] : []));
}
