// The files of a container that its resource declares: read back, written where they differ, removed.
import { hidingMount, isHiddenFile } from '../../../server/client/files/hidden-files.ts';
import type { SeenContainer } from '../../connection/reader.ts';
import { deleteIfThere } from '../../../server/client/files/file-helpers.ts';
import { type Link } from '../../connection/link.ts';
import { warning } from '../../framework/diagnostic.ts';
import type { Context } from '../../framework/object-type.ts';
import { type ContainerState, type FileSpec } from './container-attributes.ts';
import { filesIn, readFileSpec, writeFileSpec } from './container-files.ts';

export type FileMap = Readonly<Record<string, FileSpec>>;

/** Files that only a start makes visible stay as they are in the state. */
export async function readFiles(
  context: Context<Link>,
  { name, files }: ContainerState,
  live: SeenContainer,
): Promise<FileMap | null> {
  if (files === null) return null;
  const access = filesIn(context, name);
  const found: Record<string, FileSpec> = {};
  for (const [path, file] of Object.entries(files)) {
    const isHidden = hidingMount(path, live) !== undefined;
    const seen = isHidden ? file : await readFileSpec(access, path, file, context.signal);
    if (seen !== undefined) found[path] = seen;
  }
  return found;
}

/** Resolves to the files that must wait until the container runs, if it `willRun`; otherwise these are refused. */
export async function writeFiles(
  context: Context<Link>,
  name: string,
  {
    wanted,
    prior,
    willRun,
  }: { readonly wanted: FileMap | null; readonly prior: FileMap | null; readonly willRun: boolean },
): Promise<FileMap> {
  const access = filesIn(context, name);
  const late: Record<string, FileSpec> = {};
  for (const [path, file] of Object.entries(wanted ?? {})) {
    const before = prior?.[path];
    const isSame =
      before !== undefined &&
      (['sha256', 'mode', 'uid', 'gid'] as const).every((member) => before[member] === file[member]);
    if (isSame) continue;
    await writeFileSpec(access, path, file, context.signal).catch((error: unknown) => {
      if (!willRun || !isHiddenFile(error)) throw error;
      late[path] = file;
    });
  }
  for (const path of Object.keys(prior ?? {})) {
    if (wanted?.[path] === undefined) await removeFile(context, name, path);
  }
  return late;
}

/** A file that a mount hides stays: a container that is stopped must not keep its resources from being destroyed. */
export async function removeFile(context: Context<Link>, name: string, path: string): Promise<void> {
  await deleteIfThere(filesIn(context, name), path, context.signal).catch((error: unknown) => {
    if (!isHiddenFile(error)) throw error;
    const detail = `${path} is on a disk device, which is mounted only while the container runs. Delete it at the source of the device if nobody needs it.`;
    context.warn(warning(`A file of the stopped container ${name} was left in place`, detail));
  });
}
