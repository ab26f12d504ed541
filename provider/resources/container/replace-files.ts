// Writes files of a container on a server that keeps mode and owner of an existing file, as LXD does: a secret would stay readable.
// Removes such a file first; refuses such a directory. Repeats what LXD breaks off.
import { isRefused } from '../../../server/client/client-error.ts';
import { pause } from '../../../server/lib/shared/deadline.ts';
import { discard, readIfThere } from '../../../server/client/files/file-helpers.ts';
import type { FileAttributes, FileEntry, Files } from '../../../server/client/files/container-files.ts';
import { DiagnosticError, failure } from '../../framework/diagnostic.ts';

export function replacingFiles(files: Files, container: string): Files {
  return {
    ...files,
    read: (path, signal) => steadily(() => files.read(path, signal), signal),
    delete: (path, signal) => steadily(() => files.delete(path, signal), signal),
    makeSymlink: (path, target, attributes, signal) =>
      steadily(() => files.makeSymlink(path, target, attributes, signal), signal),
    async write(path, content, write, signal) {
      const there = await lookAt(files, path, signal);
      if (there?.type === 'file' && isOther(there, write ?? {})) await files.delete(path, signal);
      await files.write(path, content, write, signal);
    },
    async makeDirectory(path, attributes, signal) {
      const there = await lookAt(files, path, signal);
      if (there?.type !== 'directory') return steadily(() => files.makeDirectory(path, attributes, signal), signal);
      if (!isOther(there, attributes ?? {})) return;
      const [has, wants] = [shown(there), shown({ ...there, ...attributes })];
      const detail = `This server cannot change mode and owner of a directory: it has ${has}, the configuration wants ${wants}. Change it inside with gantry_container_exec (chmod, chown), or configure the existing values.`;
      throw new DiagnosticError([failure(`The directory ${path} of ${container} was not changed`, detail)]);
    },
  };
}

async function lookAt(files: Files, path: string, signal: AbortSignal | undefined): Promise<FileEntry | undefined> {
  const entry = await readIfThere(files, path, signal ?? new AbortController().signal);
  if (entry !== undefined) discard(entry);
  return entry;
}

/** Some nine seconds in all. */
const pausesMs = [200, 400, 800, 1600, 2000, 2000, 2000];

/** LXD's file helper sometimes drops a connection while a container starts or another client uses it. `call` has to begin from the start. */
export async function steadily<T>(call: () => Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  for (const pauseMs of pausesMs) {
    try {
      return await call();
    } catch (error) {
      if (!isRefused(error, 'fileHelper')) throw error;
      await pause(pauseMs, signal);
    }
  }
  return call();
}

const names = ['mode', 'uid', 'gid'] as const;
const isOther = (there: FileEntry, wanted: FileAttributes): boolean =>
  names.some(
    (name) => wanted[name] !== undefined && wanted[name] !== (name === 'mode' ? there.mode & 0o7777 : there[name]),
  );

const shown = ({ mode, uid, gid }: Required<FileAttributes>): string =>
  `mode 0${(mode & 0o7777).toString(8).padStart(3, '0')}, owner ${uid}, group ${gid}`;
