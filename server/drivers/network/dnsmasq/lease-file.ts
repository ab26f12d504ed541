// Reads and edits the lease file of a dnsmasq; its lines are parsed in format.ts.
import { readFile, stat, writeFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseLeases, type LeaseFile } from './format.ts';

/** State of the writer of the file: `idle` = nothing is half done, `silent` = no answer, `ended` = no process. */
export type Writer = 'idle' | 'silent' | 'ended';

/** Without a complete end mark a file must be unchanged for this long; an empty one for longer. */
const restMs = 20;
const emptyRestMs = 200;
const patienceMs = 3000;

/** dnsmasq empties the file before it writes it again, and a busy disk may delay it between the two: the content counts only if it did not
 *  change around a moment when the writer was idle. Empty if there is no file. */
export async function readLeaseFile(path: string, askWriter: () => Promise<Writer>): Promise<LeaseFile> {
  for (const end = Date.now() + patienceMs; ; await sleep(5)) {
    const before = await look(path);
    if (before === undefined) return parseLeases('');
    const writer = await askWriter();
    const bytes = await readFile(path).catch(() => Buffer.alloc(0));
    const after = await look(path);
    const isSame = after?.mtimeMs === before.mtimeMs && after.size === before.size && bytes.length === before.size;
    const hasRested = Date.now() - before.mtimeMs > (bytes.length === 0 ? emptyRestMs : restMs);
    if (writer === 'ended' || (isSame && (writer === 'idle' || hasRested)) || Date.now() > end) {
      return parseLeases(bytes.toString('utf8'));
    }
  }
}

async function look(path: string): Promise<{ readonly mtimeMs: number; readonly size: number } | undefined> {
  return stat(path).catch(() => undefined);
}

/** Only while no dnsmasq runs, which holds the file open and writes its own leases. */
export async function editLeases(path: string, edit: (text: string) => string): Promise<void> {
  const text = await readFile(path, 'utf8').catch(() => '');
  const edited = edit(text);
  if (edited !== text) await writeFile(path, edited);
}
