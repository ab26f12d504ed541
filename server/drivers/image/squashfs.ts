// Lists a squashfs image and reads single files of it, by unsquashfs; unpack.ts unpacks it.
import { createInterface } from 'node:readline';
import { keptToRead, type ConfinedCommand } from '../../lib/confined.ts';
import { driverErrors } from '../driver-error.ts';
import type { ArchiveEntry, EntryKind } from './entry.ts';
import { start } from './run-program.ts';
import { shownName } from './tar-header.ts';

const kinds: Readonly<Record<string, EntryKind>> = {
  '-': 'file',
  d: 'directory',
  l: 'symbolic link',
  c: 'character device',
  b: 'block device',
  p: 'fifo',
  s: 'socket',
};

const reading = (path: string, args: readonly string[]): ConfinedCommand => ({
  argv: ['unsquashfs', ...args],
  confinement: { reads: [path], writes: [], keeps: keptToRead },
});

const line =
  /^([-dlcbps])[-rwxsStT]{9} \d+\/\d+ +(?:\d+, *\d+|(\d+)) \d{4}-\d\d-\d\d \d\d:\d\d squashfs-root(?:\/(.*))?$/;

/** Hard links appear as separate files. Throws Invalid for names that a listing cannot show. */
export async function* listSquashfs(path: string, signal: AbortSignal): AsyncGenerator<ArchiveEntry> {
  const program = start(reading(path, ['-lln', path]), { output: 'pipe' }, signal);
  try {
    if (program.stdout !== null) {
      for await (const text of createInterface({ input: program.stdout.setEncoding('latin1') })) {
        if (text !== '') yield parseLine(text);
      }
    }
  } finally {
    program.kill();
  }
  await program.done;
}

export function parseLine(text: string): ArchiveEntry {
  const match = line.exec(text);
  const kind = kinds[match?.[1] ?? ''];
  if (match === null || kind === undefined)
    throw driverErrors.invalid(`a name in the image has a line break in it, near ${shownName(text)}`);
  const rest = match[3] ?? '.';
  const arrow = kind === 'symbolic link' ? rest.indexOf(' -> ') : -1;
  const name = arrow === -1 ? rest : rest.slice(0, arrow);
  const link = arrow === -1 ? '' : rest.slice(arrow + 4);
  // The size of a directory is that of its entry in the image, not bytes on disk.
  return { name, kind, link, size: kind === 'file' ? Number(match[2] ?? 0) : 0 };
}

/** Throws Invalid if it has more than `maxBytes`. */
export async function readSquashfsFile(
  path: string,
  name: string,
  maxBytes: number,
  signal: AbortSignal,
): Promise<Buffer> {
  const program = start(reading(path, ['-cat', path, name]), { output: 'pipe' }, signal);
  const chunks: Buffer[] = [];
  let size = 0;
  try {
    for await (const chunk of program.stdout ?? []) {
      chunks.push(chunk);
      size += chunk.length;
      if (size > maxBytes) throw driverErrors.invalid(`${name} of the image has more than ${maxBytes} bytes`);
    }
  } finally {
    if (size > maxBytes) program.kill();
  }
  await program.done;
  return Buffer.concat(chunks);
}
