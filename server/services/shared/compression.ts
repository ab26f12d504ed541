// Packs streams of bytes into files with a chosen compression; callers decide which archives.
import { once } from 'node:events';
import { constants } from 'node:fs';
import { access, open, type FileHandle } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { hasCode } from '../../lib/shared/error-code.ts';
import { reasonOf } from '../../lib/shared/reason.ts';
import type { Problem } from '../../api/problem.ts';
import { nearestName } from '../../api/text/nearest-word.ts';
import { type DriverError, driverErrors } from '../../drivers/driver-error.ts';
import { confined, filter } from '../../lib/confined.ts';
import { syncDirectory } from '../../lib/durable-files.ts';
import { programDirs, programEnv } from '../../lib/program-env.ts';
import { startProgram } from '../../lib/start-program.ts';

/** `none` and programs whose output this release can unpack; other programs of the host are accepted as they are. */
export const knownPackings = ['none', 'gzip', 'bzip2', 'xz', 'lzma', 'zstd'] as const;

const commands: Readonly<Record<string, readonly string[]>> = {
  // Omits name and time: equal content gives equal files.
  gzip: ['gzip', '-c', '-n'],
  bzip2: ['bzip2', '-c'],
  xz: ['xz', '-c'],
  lzma: ['xz', '-c', '--format=lzma'],
  zstd: ['zstd', '-c', '-q'],
};

const keptStderrBytes = 4096;

/** The program that packs standard input to standard output; undefined: none. Throws Invalid if the host lacks it. */
export async function packerOf(algorithm: string): Promise<readonly string[] | undefined> {
  if (algorithm === 'none') return undefined;
  if (!/^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(algorithm)) throw unknown(algorithm);
  const argv = commands[algorithm] ?? [algorithm, '-c'];
  if (await isProgram(argv[0] ?? '')) return argv;
  throw algorithm in commands
    ? driverErrors.invalid(`compression_algorithm: ${algorithm} needs the program ${argv[0]}, which this host lacks`)
    : unknown(algorithm);
}

/** Problems of the keys that name a program. A stored value may name one that the host has lost since. */
export async function missingPackers(
  sent: Readonly<Record<string, unknown>>,
  stored: Readonly<Record<string, unknown>>,
): Promise<Problem[]> {
  const problems: Problem[] = [];
  for (const key of ['backups.compression_algorithm', 'images.compression_algorithm']) {
    const program = sent[key];
    if (typeof program !== 'string' || program === '' || program === stored[key]) continue;
    await packerOf(program).catch((error: unknown) =>
      problems.push({ path: `config.${key}`, message: reasonOf(error) }),
    );
  }
  return problems;
}

function unknown(algorithm: string): DriverError {
  const near = nearestName(algorithm, knownPackings);
  const hint = near === undefined ? `use one of ${knownPackings.join(', ')}` : `did you mean ${near}?`;
  return driverErrors.invalid(`compression_algorithm: there is no program ${JSON.stringify(algorithm)} here; ${hint}`);
}

async function isProgram(name: string): Promise<boolean> {
  const found = await Promise.all(
    programDirs.map((dir) =>
      access(join(dir, name), constants.X_OK).then(
        () => true,
        () => false,
      ),
    ),
  );
  return found.includes(true);
}

export type Write = (chunk: Buffer) => Promise<void>;

/** Makes the file `path` from the output of `fill`, and syncs it. On a throw a part may remain: the caller removes it. `room`: throws if
 *  the file has too many bytes. */
export async function packInto(
  path: string,
  packer: readonly string[] | undefined,
  fill: (write: Write) => Promise<void>,
  signal: AbortSignal,
  room?: (bytes: number) => void,
): Promise<void> {
  signal.throwIfAborted();
  const file = await open(path, 'wx', 0o600);
  const check = async (): Promise<void> => room?.((await file.stat()).size);
  const within = (write: Write): Promise<void> =>
    fill(async (chunk) => {
      await write(chunk);
      if (room !== undefined) await check();
    });
  try {
    if (packer === undefined) await within((chunk) => writeWhole(file, chunk));
    else await through(packer, path, file, within, signal);
    // The program's buffered output after the last chunk.
    await check();
    await file.sync();
    await syncDirectory(dirname(path));
  } catch (error) {
    throw hasCode(error, 'ENOSPC', 'EDQUOT') ? noSpaceFor(path, error) : error;
  } finally {
    await file.close();
  }
}

const noSpaceFor = (path: string, cause: unknown): DriverError =>
  driverErrors.noSpace(`cannot write ${path}: no space is left`, cause);

async function writeWhole(file: FileHandle, chunk: Buffer): Promise<void> {
  for (let at = 0; at < chunk.length;) at += (await file.write(chunk, at)).bytesWritten;
}

async function through(
  argv: readonly string[],
  path: string,
  file: FileHandle,
  fill: (write: Write) => Promise<void>,
  signal: AbortSignal,
): Promise<void> {
  const [program = ''] = argv;
  const stdio = ['pipe', file.fd, 'pipe'] as const;
  const child = startProgram({ argv: confined({ argv, confinement: filter }), stdio, env: programEnv });
  const kill = (): void => void child.kill('SIGKILL');
  signal.addEventListener('abort', kill, { once: true });
  let stderr = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    if (stderr.length < keptStderrBytes) stderr += text;
  });
  let hasEnded = false;
  const ended = new Promise<number | null>((resolve, reject) => {
    child.on('error', reject);
    child.on('close', resolve);
  }).finally(() => {
    hasEnded = true;
  });
  ended.catch(() => {});
  // The program's error is in its exit, not in its closed pipe.
  child.stdin.on('error', () => {});
  const failed = async (): Promise<never> => {
    const code = await ended;
    signal.throwIfAborted();
    const failure = new Error(`${program} ended with ${code ?? 'a signal'}: ${stderr.trim().slice(0, 500)}`);
    if (/No space left on device|Disk quota exceeded/.test(stderr)) throw noSpaceFor(path, failure);
    throw driverErrors.failed(failure.message);
  };
  try {
    await fill(async (chunk) => {
      signal.throwIfAborted();
      if (hasEnded) await failed();
      if (child.stdin.write(chunk)) return;
      // A closed pipe is no reason of its own: the program's exit has it.
      await Promise.race([once(child.stdin, 'drain').catch(() => ended), ended]);
    });
    child.stdin.end();
    if ((await ended) !== 0) await failed();
  } catch (error) {
    // The program's own "no space" error explains more than the writer's.
    if (hasEnded && !signal.aborted && /No space left/.test(stderr)) await failed();
    throw error;
  } finally {
    signal.removeEventListener('abort', kill);
    kill();
    await ended.catch(() => {});
  }
}
