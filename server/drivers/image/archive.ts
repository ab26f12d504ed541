// Inspects the files of an image without unpacking them: whether it is an image and safe, its size, and its metadata.
import { open } from 'node:fs/promises';
import { keepOutput } from '../../lib/buffer-output.ts';
import { driverErrors } from '../driver-error.ts';
import { createEntryCheck, type ArchiveRole, type EntryLimits, type EntryTotals } from './check-entries.ts';
import type { ArchiveEntry } from './entry.ts';
import { freeSpace, type ImagePaths } from './files.ts';
import { decompressorOf, detectFormat, type ImageFormat } from './format.ts';
import { maxMetadataBytes, parseMetadata, type ImageMetadata } from './metadata.ts';
import { filter } from '../../lib/confined.ts';
import { ProgramError, start } from './run-program.ts';
import { listSquashfs, readSquashfsFile } from './squashfs.ts';
import { CutOffError } from './tar-blocks.ts';
import { hasKernelAcls } from './tar-acls.ts';
import { readTar } from './tar-reader.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

/** Each costs memory during the inspection. */
const maxEntries = 2_000_000;

export interface InspectOptions {
  /** Where it would be unpacked: its free space is the limit. */
  readonly targetDir?: string;
  /** A further limit; default none. */
  readonly maxUnpackedBytes?: number;
}

export interface ImageInspection {
  readonly metadata: ImageMetadata;
  /** ACLs as LXD writes them, which tar cannot read. */
  readonly kernelAcls: boolean;
}

/** Throws Invalid (naming the entry or field), NoSpace, Failed, or the reason of the abort. Reads each file once. */
export async function inspectImage(
  files: ImagePaths,
  options: InspectOptions,
  signal: AbortSignal,
): Promise<ImageInspection> {
  signal.throwIfAborted();
  const limits = await limitsOf(options);
  const role = files.rootfsPath === undefined ? 'unified' : 'metadata';
  const first = await inspectFile(files.metadataPath, role, limits, signal);
  const metadata = await parseMetadata((first.metadata ?? Buffer.alloc(0)).toString('utf8'));
  const { totals, kernelAcls } = first;
  if (files.rootfsPath === undefined) return { metadata, kernelAcls };
  const left = { bytes: limits.bytes - totals.bytes, entries: limits.entries - totals.entries };
  const second = await inspectFile(files.rootfsPath, 'rootfs', left, signal);
  return { metadata, kernelAcls: second.kernelAcls };
}

async function limitsOf(options: InspectOptions): Promise<EntryLimits> {
  const free = options.targetDir === undefined ? undefined : await freeSpace(options.targetDir);
  return {
    bytes: Math.min(options.maxUnpackedBytes ?? Number.MAX_SAFE_INTEGER, free?.bytes ?? Number.MAX_SAFE_INTEGER),
    entries: Math.min(maxEntries, free?.inodes ?? Number.MAX_SAFE_INTEGER),
  };
}

interface FileInspection {
  readonly totals: EntryTotals;
  readonly kernelAcls: boolean;
  readonly metadata?: Buffer;
}

async function inspectFile(
  path: string,
  role: ArchiveRole,
  limits: EntryLimits,
  signal: AbortSignal,
): Promise<FileInspection> {
  const what = role === 'unified' ? 'image' : `${role} of the image`;
  const format = await detectFormat(path, what);
  try {
    return format === 'squashfs'
      ? await inspectSquashfs(path, role, limits, signal)
      : await inspectTar(path, format, role, limits, signal);
  } catch (error) {
    signal.throwIfAborted();
    // If a program cannot unpack the file, the file is damaged.
    if (!(error instanceof ProgramError) || error.code !== 'Failed') throw error;
    throw driverErrors.invalid(`cannot read the ${what}, packed as ${format}`, error);
  }
}

/** Beyond the content of files: headers, padding and the end of the archive. */
const overheadBytes = 64 * 1024 * 1024;
const overheadOfEntry = 4096;

async function inspectTar(
  path: string,
  format: ImageFormat,
  role: ArchiveRole,
  limits: EntryLimits,
  signal: AbortSignal,
): Promise<FileInspection> {
  const check = createEntryCheck(role, limits);
  let metadata: Buffer | undefined;
  let entries = 0;
  let kernelAcls = false;
  const allowed = (): number => limits.bytes + overheadBytes + entries * overheadOfEntry;
  await withTar(path, format, signal, async ({ bytes, done }) => {
    for await (const member of readTar(bytes, allowed)) {
      entries += 1;
      kernelAcls ||= hasKernelAcls(member.records);
      if (isMetadata(check.add(member), role)) {
        checkMetadataSize(member);
        metadata = Buffer.from(await member.read());
      }
    }
    await done();
  });
  return { totals: check.finish(), kernelAcls, ...withoutUndefined({ metadata }) };
}

interface TarSource {
  readonly bytes: AsyncIterable<Buffer>;
  /** Await it after all bytes were read: throws if the packing was damaged. */
  readonly done: () => Promise<void>;
  readonly close: () => Promise<void>;
}

export async function withTar<T>(
  path: string,
  format: ImageFormat,
  signal: AbortSignal,
  use: (source: TarSource) => Promise<T>,
): Promise<T> {
  const source = await openTar(path, format, signal);
  try {
    return await use(source);
  } catch (error) {
    // Damage in the packing first appears as a stream that ends early; the program's own error explains more.
    if (error instanceof CutOffError) await source.done();
    throw error;
  } finally {
    await source.close();
  }
}

async function openTar(path: string, format: ImageFormat, signal: AbortSignal): Promise<TarSource> {
  const file = await open(path, 'r');
  const argv = decompressorOf(format);
  if (argv === undefined) {
    const bytes = file.createReadStream({ highWaterMark: 256 * 1024, signal, autoClose: false });
    // The reader listens from its first read. An abort before that would be an error without a listener, which ends the process.
    bytes.on('error', () => {});
    return { bytes, done: async () => {}, close: () => file.close() };
  }
  const program = start({ argv, confinement: filter }, { inputFd: file.fd, output: 'pipe' }, signal);
  keepOutput(program.stdout);
  const close = async (): Promise<void> => {
    program.kill();
    program.stdout?.destroy();
    await program.done.catch(() => {}); // its end was asked for, or judged before
    await file.close();
  };
  return { bytes: program.stdout ?? emptyStream(), done: () => program.done, close };
}

// eslint-disable-next-line require-yield
async function* emptyStream(): AsyncGenerator<Buffer> {}

async function inspectSquashfs(
  path: string,
  role: ArchiveRole,
  limits: EntryLimits,
  signal: AbortSignal,
): Promise<FileInspection> {
  const check = createEntryCheck(role, limits);
  let hasMetadata = false;
  for await (const entry of listSquashfs(path, signal)) {
    if (!isMetadata(check.add(entry), role)) continue;
    checkMetadataSize(entry);
    hasMetadata = true;
  }
  const totals = check.finish();
  if (!hasMetadata) return { totals, kernelAcls: false };
  return {
    totals,
    kernelAcls: false,
    metadata: await readSquashfsFile(path, 'metadata.yaml', maxMetadataBytes, signal),
  };
}

function isMetadata(path: string, role: ArchiveRole): boolean {
  return role !== 'rootfs' && path === 'metadata.yaml';
}

function checkMetadataSize(entry: ArchiveEntry): void {
  if (entry.size > maxMetadataBytes)
    throw driverErrors.invalid(`metadata.yaml of the image has ${entry.size} bytes, more than ${maxMetadataBytes}`);
}
