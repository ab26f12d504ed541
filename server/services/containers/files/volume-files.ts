// The files beside a container's root file system: metadata.yaml and templates/. Programs in the container never see them, but images bring
// them, so none is trusted to be a plain file.
import { lstat, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { buffer } from 'node:stream/consumers';
import { hasCode } from '../../../lib/shared/error-code.ts';
import { errors } from '../../../api/errors.ts';
import type { FileRoot } from '../../../drivers/files/driver.ts';
import { readEntry } from '../../../drivers/files/read.ts';
import { maxMetadataBytes } from '../../../drivers/image/metadata.ts';
import { syncDirectory, writeDurably } from '../../../lib/durable-files.ts';

/** Real ones have some hundred bytes. Parsing a larger one would block the event loop. */
export const maxTemplateBytes = 128 * 1024;
const metadataFile = 'metadata.yaml';
const templatesDir = 'templates';
/** No image or template can have this name. */
const unfinished = '.unfinished';

/** Undefined for a container made without an image. */
export async function readMetadataText(volume: string, label: string): Promise<string | undefined> {
  return (await readWhole(rootOf(volume, label), metadataFile, maxMetadataBytes))?.toString('utf8');
}

export async function readTemplateText(volume: string, label: string, name: string): Promise<Buffer | undefined> {
  return readWhole(rootOf(volume, label), `${templatesDir}/${name}`, maxTemplateBytes);
}

/** Sorted. */
export async function templateNames(volume: string): Promise<readonly string[]> {
  if (!(await isKind(join(volume, templatesDir), 'directory'))) return [];
  const entries = await readdir(join(volume, templatesDir), { withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => entry.name)
    .sort();
}

export async function hasTemplate(volume: string, name: string): Promise<boolean> {
  const dir = join(volume, templatesDir);
  return (await isKind(dir, 'directory')) && isKind(join(dir, name), 'file');
}

export function writeMetadataText(volume: string, text: string): Promise<void> {
  return putWhole(volume, metadataFile, Buffer.from(text));
}

export async function writeTemplateText(volume: string, name: string, bytes: Buffer): Promise<void> {
  const dir = join(volume, templatesDir);
  if ((await mkdir(dir, { recursive: true, mode: 0o755 })) !== undefined) await syncDirectory(volume);
  if (!(await isKind(dir, 'directory'))) throw errors.internal(`${dir} is not a directory`);
  await putWhole(volume, `${templatesDir}/${name}`, bytes);
}

export async function removeTemplate(volume: string, name: string): Promise<void> {
  await rm(join(volume, templatesDir, name));
  await syncDirectory(join(volume, templatesDir));
}

/** Atomic, and synced to the disk; the next write replaces what a crash leaves. */
async function putWhole(volume: string, path: string, bytes: Buffer): Promise<void> {
  await writeDurably(join(volume, path), bytes, 0o644, join(volume, unfinished));
}

async function readWhole(root: FileRoot, path: string, limit: number): Promise<Buffer | undefined> {
  const entry = await readEntry(root, Buffer.from(path)).catch((error: unknown) => {
    if (hasCode(error, 'NotFound')) return undefined;
    throw error;
  });
  if (entry === undefined) return undefined;
  if (entry.type !== 'file') throw errors.internal(`${path} of ${root.label} is a ${entry.type}, not a file`);
  if (entry.size > limit) {
    entry.content.destroy();
    throw errors.internal(`${path} of ${root.label} is larger than ${limit} bytes`);
  }
  return buffer(entry.content);
}

function rootOf(volume: string, label: string): FileRoot {
  return {
    path: volume,
    label,
    ids: { toHost: (_kind, id) => id, toGuest: (_kind, id) => id },
    isCurrent: () => true,
    refuseLinks: true,
  };
}

async function isKind(path: string, kind: 'file' | 'directory'): Promise<boolean> {
  const stats = await lstat(path).catch(() => undefined);
  return (kind === 'file' ? stats?.isFile() : stats?.isDirectory()) === true;
}
