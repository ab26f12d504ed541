// Unpacks an image into a directory with the host's programs; archive.ts checks its content.
import { readFileSync } from 'node:fs';
import { lstat, mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { keptToWrite, type Confinement } from '../../lib/confined.ts';
import { DriverError, driverErrors } from '../driver-error.ts';
import { withTar } from './archive.ts';
import { freeSpace, type ImagePaths } from './files.ts';
import { decompressorOf, detectFormat, type ImageFormat } from './format.ts';
import { run } from './run-program.ts';
import { memberWithAcls } from './tar-acls.ts';
import { tarEnd } from './tar-file.ts';
import { readTar } from './tar-reader.ts';
import { ifMissing } from '../../lib/shared/missing-files.ts';

export interface UnpackOptions {
  /** True: owners, extended attributes and ACLs as in the image. False: everything belongs to the daemon's user. */
  readonly asRoot: boolean;
  /** A text for users such as `rootfs: 42%`. */
  readonly progress?: (text: string) => void;
}

const parts = ['metadata.yaml', 'rootfs', 'templates'] as const;
const progressEveryMs = 500;
/** Excludes device nodes; the programs report those that a daemon may not make. */
const noDevices =
  /^tar: .*: Cannot mknod: Operation not permitted$|^tar: Exiting with failure status due to previous errors$|^create_inode: could not create (?:character|block) device .*, because you're not superuser!$/;

/** Fills the existing directory `target` with `metadata.yaml`, `rootfs/` and maybe `templates/`, without device nodes. Expects an image
 *  that inspectImage accepted, but does not rely on it for safety: nothing is written outside `target`, whatever the image contains. On a
 *  throw (Invalid, NoSpace, Failed, or the reason of the abort) a part may remain: the caller removes it. */
export async function unpackImage(
  image: ImagePaths,
  target: string,
  options: UnpackOptions,
  signal: AbortSignal,
): Promise<void> {
  signal.throwIfAborted();
  await checkSpace(image, target);
  // A separate directory: the archive's entry for `.` must not change mode or owner of `target`.
  const stage = join(target, '.unpack');
  await mkdir(stage, { mode: 0o700 });
  const isWhole = image.rootfsPath === undefined;
  const hasKernelAcls = options.asRoot && image.kernelAcls === true;
  const first = { ...options, hasKernelAcls: hasKernelAcls && isWhole };
  await unpackFile(image.metadataPath, stage, isWhole ? 'image' : 'metadata', first, signal);
  if (image.rootfsPath !== undefined) {
    // The second file is the root file system, whatever the first contains.
    await rm(join(stage, 'rootfs'), { recursive: true, force: true });
    await mkdir(join(stage, 'rootfs'), { mode: 0o755 });
    await unpackFile(image.rootfsPath, join(stage, 'rootfs'), 'rootfs', { ...options, hasKernelAcls }, signal);
  }
  const argv = ['find', stage, '-xdev', '(', '-type', 'b', '-o', '-type', 'c', ')', '-delete'];
  if (options.asRoot) await run({ argv, confinement: within(stage) }, {}, signal);
  await checkParts(stage);
  for (const part of parts) {
    if ((await kindOf(join(stage, part))) !== 'nothing') await rename(join(stage, part), join(target, part));
  }
  await rm(stage, { recursive: true, force: true });
}

async function checkSpace(image: ImagePaths, target: string): Promise<void> {
  const packed = await Promise.all([image.metadataPath, image.rootfsPath ?? '/dev/null'].map((path) => stat(path)));
  const atLeast = packed.reduce((sum, { size }) => sum + size, 0);
  const { bytes } = await freeSpace(target);
  if (bytes < atLeast)
    throw driverErrors.noSpace(
      `cannot unpack the image: it has ${atLeast} bytes packed, only ${bytes} are free in ${dirname(target)}`,
    );
}

async function unpackFile(
  path: string,
  target: string,
  what: string,
  options: UnpackOptions & { readonly hasKernelAcls: boolean },
  signal: AbortSignal,
): Promise<void> {
  const named = what === 'image' ? what : `${what} of the image`;
  const format = await detectFormat(path, named);
  const file = await open(path, 'r');
  const { size } = await file.stat();
  const stopProgress = reportPosition(file.fd, size, (percent) => options.progress?.(`${what}: ${percent}%`));
  try {
    const confinement = within(target, path);
    if (options.hasKernelAcls && format !== 'squashfs') await unpackTranslated(path, format, target, signal);
    else {
      const argv =
        format === 'squashfs'
          ? squashfsCommand(path, target, options.asRoot)
          : tarCommand(decompressorOf(format), target, options.asRoot);
      const input = format === 'squashfs' ? {} : { inputFd: file.fd };
      await run({ argv, confinement }, { ...input, tolerated: noDevices }, signal);
    }
    // The daemon's user must be able to copy and delete its files.
    if (!options.asRoot) await run({ argv: ['chmod', '-R', 'u+rwX', '--', target], confinement }, {}, signal);
  } catch (error) {
    signal.throwIfAborted();
    const code = error instanceof DriverError ? error.code : 'Failed';
    throw new DriverError(code, `cannot unpack the ${named}`, error);
  } finally {
    stopProgress();
    await file.close();
  }
}

/** As unpacking does, with the ACLs in the form that tar reads. */
async function unpackTranslated(path: string, format: ImageFormat, target: string, signal: AbortSignal): Promise<void> {
  const command = { argv: tarCommand(undefined, target, true), confinement: within(target) };
  await withTar(path, format, signal, async ({ bytes, done }) => {
    async function* translated(): AsyncGenerator<Buffer> {
      for await (const member of readTar(bytes, () => Number.MAX_SAFE_INTEGER)) yield* memberWithAcls(member);
      yield tarEnd;
    }
    await run(command, { input: translated(), tolerated: noDevices }, signal);
    await done();
  });
}

const within = (target: string, ...reads: readonly string[]): Confinement => ({
  reads,
  writes: [target],
  keeps: keptToWrite,
});

function tarCommand(decompressor: readonly string[] | undefined, target: string, asRoot: boolean): readonly string[] {
  return [
    'tar',
    '--extract',
    '--file=-',
    `--directory=${target}`,
    '--numeric-owner',
    '--delay-directory-restore',
    // tar adds -d itself; the others also need -c.
    ...(decompressor === undefined ? [] : [`--use-compress-program=${decompressor.join(' ')}`]),
    ...(asRoot
      ? ['--same-owner', '--same-permissions', '--xattrs', '--xattrs-include=*', '--acls']
      : ['--no-same-owner', '--no-same-permissions', '--no-xattrs', '--no-acls']),
  ];
}

function squashfsCommand(path: string, target: string, asRoot: boolean): readonly string[] {
  return ['unsquashfs', '-force', '-no-progress', ...(asRoot ? [] : ['-no-xattrs']), '-dest', target, path];
}

/** The programs share our open file, so its position shows their progress. */
function reportPosition(fd: number, size: number, report: (percent: number) => void): () => void {
  let last = -1;
  const timer = setInterval(() => {
    const percent = size === 0 ? 100 : Math.min(100, Math.floor((positionOf(fd) / size) * 100));
    if (percent > last) report(percent);
    last = Math.max(last, percent);
  }, progressEveryMs);
  timer.unref();
  return () => clearInterval(timer);
}

function positionOf(fd: number): number {
  try {
    return Number(/^pos:\s*(\d+)/.exec(readFileSync(`/proc/self/fdinfo/${fd}`, 'utf8'))?.[1] ?? 0);
  } catch {
    return 0; // progress is a courtesy
  }
}

/** The shape that the rest of the daemon relies on: it reads templates and starts from `rootfs` as root. */
async function checkParts(stage: string): Promise<void> {
  if ((await kindOf(join(stage, 'metadata.yaml'))) !== 'file') throw invalid('the image has no file metadata.yaml');
  if ((await kindOf(join(stage, 'rootfs'))) !== 'directory') throw invalid('the image has no directory rootfs');
  const templates = await kindOf(join(stage, 'templates'));
  if (templates === 'nothing') return;
  if (templates !== 'directory') throw invalid('templates of the image is not a directory');
  for (const entry of await readdir(join(stage, 'templates'), { recursive: true, withFileTypes: true })) {
    if (!entry.isFile() && !entry.isDirectory())
      throw invalid(`template ${join(entry.parentPath, entry.name).slice(stage.length + 1)} is not a plain file`);
  }
}

async function kindOf(path: string): Promise<'nothing' | 'file' | 'directory' | 'other'> {
  const stats = await lstat(path).catch(ifMissing);
  if (stats === undefined) return 'nothing';
  if (stats.isDirectory()) return 'directory';
  return stats.isFile() ? 'file' : 'other';
}

function invalid(message: string): DriverError {
  return driverErrors.invalid(message);
}
