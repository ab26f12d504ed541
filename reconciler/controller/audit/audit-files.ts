// The files of the audit log: audit.jsonl, and older ones named audit-NUMBER.jsonl after their first entry. They are read line by
// line, so that their length does not matter.
import { open, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ifMissing } from '../../../server/lib/shared/missing-files.ts';
import { emptyChain, linkOf, type Link } from './audit-chain.ts';

export interface AuditFile {
  readonly path: string;
  /** The number of its first entry. */
  readonly first: number;
}

export const rotatedPath = (file: string, first: number): string =>
  file.replace(/\.jsonl$/, `-${String(first).padStart(12, '0')}.jsonl`);

/** Oldest first; the current file comes last. */
export async function auditFiles(file: string): Promise<readonly AuditFile[]> {
  const names = (await readdir(dirname(file)).catch(ifMissing)) ?? [];
  const rotated = names.flatMap((name) => {
    const [, first] = /^audit-(\d{12})\.jsonl$/.exec(name) ?? [];
    return first === undefined ? [] : [{ path: join(dirname(file), name), first: Number(first) }];
  });
  return [...rotated.sort((one, other) => one.first - other.first), { path: file, first: Number.MAX_SAFE_INTEGER }];
}

/** The lines of a file; none if it does not exist. */
export async function* linesOf(path: string): AsyncGenerator<string, void, void> {
  const handle = await open(path).catch(ifMissing);
  if (handle === undefined) return;
  try {
    yield* handle.readLines();
  } finally {
    await handle.close().catch(() => undefined);
  }
}

/** The last whole entry, to which the next one is chained. */
export async function lastLink(file: string): Promise<Link> {
  for (const { path } of (await auditFiles(file)).toReversed()) {
    let last: Link | undefined;
    let count = 0;
    for await (const line of linesOf(path)) {
      count += 1;
      last = linkOf(line, count) ?? last;
    }
    if (last !== undefined) return last;
  }
  return emptyChain;
}
