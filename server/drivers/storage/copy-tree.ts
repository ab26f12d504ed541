// Copies a directory tree whole: owners, modes, times, hard links, holes, extended attributes; never follows links.
import { statfs } from 'node:fs/promises';
import { hasCode } from '../../lib/shared/error-code.ts';
import { exec, ExecError } from '../../lib/exec.ts';
import { confined, keptToRead, keptToWrite } from '../../lib/confined.ts';
import { DriverError, driverErrors } from '../driver-error.ts';
import { programEnv } from '../../lib/program-env.ts';
import { startPair, type StartedProgram } from '../../lib/start-program.ts';

const dayMs = 86_400_000;
/** Max bytes kept of a program's messages; the rest is dropped. */
export const keptStderrBytes = 16_384;

/**
 * For trees that nobody changes meanwhile, such as unpacked images. `target` is absent or an empty directory. On a throw (also
 * by abort) a part of it may be there: the caller removes it.
 */
export async function copyTree(source: string, target: string, signal: AbortSignal): Promise<void> {
  await exec(
    ['cp', '-a', '--reflink=auto', '-T', '--', source, target],
    { timeoutMs: dayMs, maxBytes: keptStderrBytes, isMortal: true },
    signal,
  );
}

/** As copyTree, but with hard links: for files that are never written again. */
export async function shareTree(source: string, target: string, signal: AbortSignal): Promise<void> {
  await exec(
    ['cp', '-al', '-T', '--', source, target],
    { timeoutMs: dayMs, maxBytes: keptStderrBytes, isMortal: true },
    signal,
  );
}

const btrfsMagic = 0x9123683e;

/** Options that keep tar in a tree, whatever is mounted in it. Subvolumes of btrfs look like mounts, and are part of it. */
export async function boundsOf(path: string): Promise<readonly string[]> {
  const { type } = await statfs(path);
  return type === btrfsMagic ? [] : ['--one-file-system'];
}

/** Options that make tar keep all attributes. */
export const keepAll = ['--numeric-owner', '--xattrs', '--xattrs-include=*', '--acls'] as const;

/**
 * For trees that a guest may be changing, into an empty directory: cp walks by path, so a guest that swaps a directory and a link makes
 * it read files of the host. tar walks by open directories. Files that change or vanish meanwhile are copied as found. Otherwise as copyTree.
 */
export async function copyGuestTreeInto(
  source: string,
  target: string,
  asRoot: boolean,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  const pack = [
    '--create',
    '--file=-',
    '--format=posix',
    '--sparse',
    ...(await boundsOf(source)),
    `--directory=${source}`,
    '.',
  ];
  const owners = asRoot ? [...keepAll, '--same-owner'] : ['--no-same-owner'];
  const unpack = ['--extract', '--file=-', '--same-permissions', '--delay-directory-restore', `--directory=${target}`];
  const read = confined({
    argv: ['tar', ...(asRoot ? keepAll : []), ...pack],
    confinement: { reads: [source], writes: [], keeps: keptToRead },
  });
  const write = confined({
    argv: ['tar', ...owners, ...unpack],
    confinement: { reads: [], writes: [target], keeps: keptToWrite },
  });
  const [reader, writer] = startPair(
    { argv: read, env: programEnv, stdio: ['ignore', 'pipe', 'pipe'] },
    { argv: write, env: programEnv, stdio: ['pipe', 'ignore', 'pipe'] },
  );
  const kill = (): void => {
    reader.kill('SIGKILL');
    writer.kill('SIGKILL');
  };
  signal.addEventListener('abort', kill, { once: true });
  try {
    const [read, written] = await Promise.all([ended(reader, 'tar', 'reading'), ended(writer, 'tar', 'writing')]);
    signal.throwIfAborted();
    if (written.code !== 0) throw written;
    // 1: some files changed or vanished while they were read.
    if (read.code !== 0 && read.code !== 1) throw read;
  } finally {
    signal.removeEventListener('abort', kill);
    kill();
  }
}

/** Resolves with the program's end as an ExecError; its code is 0 on success. */
export async function ended(child: StartedProgram, program: string, what: string): Promise<ExecError> {
  let stderr = '';
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    if (stderr.length < keptStderrBytes) stderr += text;
  });
  return new Promise((resolve, reject) => {
    child.on('error', (error) => reject(new ExecError(`cannot run ${program}: ${error.message}`, -1, '')));
    child.on('exit', (code) => {
      setImmediate(() => {
        child.stderr?.destroy();
        resolve(new ExecError(`${program} failed ${what}: ${stderr.trim().slice(0, 500)}`, code ?? -1, stderr));
      });
    });
  });
}

/** Writes the whole file system of `directory` to the disk. */
export async function syncTree(directory: string, signal: AbortSignal): Promise<void> {
  await exec(['sync', '-f', '--', directory], { timeoutMs: dayMs }, signal);
}

/** A full disk gets its own code; driver errors pass as they are. */
export function asDriverError(what: string, error: unknown): DriverError {
  if (error instanceof DriverError) return error;
  return isOutOfSpace(error)
    ? driverErrors.noSpace(`${what}: no space is left`, error)
    : driverErrors.failed(what, error);
}

function isOutOfSpace(error: unknown): boolean {
  if (hasCode(error, 'ENOSPC', 'EDQUOT')) return true;
  // tar reports a write that was cut short before it notices a full disk.
  const words = /No space left on device|Disk quota exceeded|out of space|Wrote only \d+ of \d+ bytes/;
  return error instanceof ExecError && words.test(error.stderr);
}
