// The files of a container that its resource declares: read back, written where they differ, removed.
import { deleteIfThere } from '../../../server/client/files/file-helpers.ts';
import { type Link } from '../../connection/link.ts';
import type { Context } from '../../framework/object-type.ts';
import { type ContainerState, type FileSpec } from './container-attributes.ts';
import { filesIn, readFileSpec, writeFileSpec } from './container-files.ts';

type Files = Readonly<Record<string, FileSpec>>;

export async function readFiles(context: Context<Link>, { name, files }: ContainerState): Promise<Files | null> {
  if (files === null) return null;
  const access = filesIn(context, name);
  const found: Record<string, FileSpec> = {};
  for (const [path, file] of Object.entries(files)) {
    const seen = await readFileSpec(access, path, file, context.signal);
    if (seen !== undefined) found[path] = seen;
  }
  return found;
}

export async function writeFiles(
  context: Context<Link>,
  name: string,
  wanted: Files | null,
  prior: Files | null,
): Promise<void> {
  const access = filesIn(context, name);
  for (const [path, file] of Object.entries(wanted ?? {})) {
    const before = prior?.[path];
    const isSame =
      before !== undefined &&
      (['sha256', 'mode', 'uid', 'gid'] as const).every((member) => before[member] === file[member]);
    if (!isSame) await writeFileSpec(access, path, file, context.signal);
  }
  for (const path of Object.keys(prior ?? {})) {
    if (wanted?.[path] === undefined) await deleteIfThere(access, path, context.signal);
  }
}
