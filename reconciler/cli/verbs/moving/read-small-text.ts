// Reads files that a compose file names: regular ones only, so that no pipe or device holds the command up, and of a bounded size.
import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import type { FileText } from '../../../manifest/import-compose/env-files.ts';

const mostBytes = 1024 * 1024;

export function readSmallText(path: string): FileText {
  let file: number | undefined;
  try {
    file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
    if (!fstatSync(file).isFile()) return { why: 'is no regular file' };
    return textOf(file);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR'
      ? { why: 'is not there', isMissing: true }
      : { why: `cannot be read (${code ?? message})` };
  } finally {
    if (file !== undefined) closeSync(file);
  }
}

/** Files of the kernel do not say how long they are. */
function textOf(file: number): FileText {
  const bytes = Buffer.alloc(mostBytes + 1);
  let length = 0;
  for (let read = -1; read !== 0 && length < bytes.length; length += read)
    read = readSync(file, bytes, length, bytes.length - length, null);
  return length > mostBytes ? { why: 'has more than 1 MiB' } : { text: bytes.toString('utf8', 0, length) };
}
