// Builds small bootable images from the busybox root file system; hostile images are in hostile.ts.
import { execFileSync } from 'node:child_process';
import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { tempFolder } from '../temp-folder.ts';
import { fingerprintImage } from '../../../server/drivers/image/files.ts';
import { makeBusyboxRootfs, type BusyboxOptions } from './busybox-rootfs.ts';

export type ImageCompression = 'none' | 'gz' | 'bz2' | 'xz' | 'lzma' | 'zstd' | 'squashfs';

export interface BusyboxImageOptions {
  /** Default gz. `squashfs` packs the root file system (the metadata of a split image stays a gz tarball). */
  readonly compression?: ImageCompression;
  /** Metadata and root file system in two files. */
  readonly split?: boolean;
  readonly busybox?: BusyboxOptions;
  /** Replaces the generated metadata.yaml. */
  readonly metadata?: string;
  /** Called with the root file system before it is packed. */
  readonly change?: (rootfs: string) => void | Promise<void>;
}

export interface BuiltImage {
  readonly metadataPath: string;
  readonly rootfsPath?: string;
  readonly fingerprint: string;
}

const defaultMetadata = `architecture: x86_64
creation_date: 1700000000
properties:
  description: Busybox of the host
  os: busybox
templates:
  /etc/hostname:
    when: [create, copy]
    template: hostname.tpl
`;

const programs = {
  none: '',
  gz: 'gzip -1',
  bz2: 'bzip2 -1',
  xz: 'xz -0',
  lzma: 'lzma -0',
  zstd: 'zstd -q -1',
} as const;

/** Makes the files of an image in `dir`, which is made when absent. */
export async function buildBusyboxImage(dir: string, options: BusyboxImageOptions = {}): Promise<BuiltImage> {
  await mkdir(dir, { recursive: true });
  const work = await mkdtemp(join(dir, '.build-'));
  try {
    const rootfs = join(work, 'rootfs');
    await makeBusyboxRootfs(rootfs, options.busybox);
    await options.change?.(rootfs);
    await writeFile(join(work, 'metadata.yaml'), options.metadata ?? defaultMetadata);
    await mkdir(join(work, 'templates'));
    await writeFile(join(work, 'templates', 'hostname.tpl'), '{{ container.name }}\n');
    const compression = options.compression ?? 'gz';
    const files = options.split === true ? packSplit(work, compression) : packUnified(work, compression);
    return await finish(dir, work, files);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

interface Receiver {
  ok(method: string, path: string, body: Buffer, headers: Readonly<Record<string, string>>): Promise<unknown>;
}

/** Builds an image and adds it to a daemon under the alias `busybox`. */
export async function uploadBusybox(daemon: Receiver, options: BusyboxImageOptions = {}): Promise<void> {
  const { metadataPath } = await buildBusyboxImage(tempFolder('gantry-busybox-'), options);
  await daemon.ok('POST', '/1.0/images', await readFile(metadataPath), { 'x-svc-aliases': 'alias=busybox' });
}

interface Packed {
  readonly metadata: string;
  readonly rootfs?: string;
}

function packUnified(work: string, compression: ImageCompression): Packed {
  if (compression === 'squashfs') {
    squash(work, join(work, 'image.packed'), ['-e', 'image.packed']);
  } else pack(work, 'image.packed', compression, ['metadata.yaml', 'rootfs', 'templates']);
  return { metadata: 'image.packed' };
}

function packSplit(work: string, compression: ImageCompression): Packed {
  pack(work, 'metadata.packed', compression === 'squashfs' ? 'gz' : compression, ['metadata.yaml', 'templates']);
  if (compression === 'squashfs') squash(join(work, 'rootfs'), join(work, 'rootfs.packed'), []);
  else pack(join(work, 'rootfs'), '../rootfs.packed', compression, ['.']);
  return { metadata: 'metadata.packed', rootfs: 'rootfs.packed' };
}

async function finish(dir: string, work: string, packed: Packed): Promise<BuiltImage> {
  const rootfs = packed.rootfs === undefined ? {} : { rootfsPath: join(work, packed.rootfs) };
  const fingerprint = await fingerprintImage(
    { metadataPath: join(work, packed.metadata), ...rootfs },
    new AbortController().signal,
  );
  const metadataPath = join(dir, `${fingerprint}.image`);
  await rename(join(work, packed.metadata), metadataPath);
  if (rootfs.rootfsPath === undefined) return { metadataPath, fingerprint };
  const rootfsPath = join(dir, `${fingerprint}.rootfs`);
  await rename(rootfs.rootfsPath, rootfsPath);
  return { metadataPath, rootfsPath, fingerprint };
}

function pack(cwd: string, file: string, compression: Exclude<ImageCompression, 'squashfs'>, names: string[]): void {
  const program = programs[compression];
  const compress = program === '' ? [] : [`--use-compress-program=${program}`];
  const keep = ['--numeric-owner', '--xattrs', '--xattrs-include=*', '--sort=name'];
  execFileSync('tar', [...keep, ...compress, '-cf', file, ...names], { cwd });
}

function squash(source: string, file: string, more: string[]): void {
  execFileSync('mksquashfs', [source, file, '-quiet', '-no-progress', '-noappend', '-comp', 'gzip', ...more]);
}
