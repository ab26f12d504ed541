// Copies an image from another project of this server as if from another server: its files are checked and inspected again.
import { copyFile, link } from 'node:fs/promises';
import { plainName, projectOf } from '../../api/project/project-names.ts';
import { errors } from '../../api/errors.ts';
import type { ImageTarget, RemoteImage } from '../../drivers/remote/driver.ts';
import { ofProject } from '../shared/project-scope.ts';
import type { ImageStoreDeps } from './image-deps.ts';
import type { ImageStore } from './image-store.ts';

export type CopyImageDeps = Pick<ImageStoreDeps, 'records' | 'users' | 'damage' | 'members'> & {
  readonly images: ImageStore;
};

export function imageOfProject(deps: CopyImageDeps, image: string): RemoteImage {
  const { records, users, damage, images, members } = deps;
  const { document } = images.find(image);
  const fingerprint = plainName(image);
  const aliases = ofProject(records.aliases.list(), projectOf(image)).filter(
    (alias) => alias.document.target === fingerprint,
  );
  return {
    fingerprint,
    filename: document.filename,
    properties: document.properties,
    aliases: aliases.map(({ name, document: { description } }) => ({ name: plainName(name), description })),
    expiresAt: document.expiresAt,
    fetch: (target, _report, signal) =>
      users.during(fingerprint, async () => {
        await members.fetch(image, signal);
        const files = images.files(image);
        const found = await damage.byContent(files, signal);
        if (found !== undefined) throw errors.internal(found);
        await copyFiles(files, target);
        return { split: files.rootfsPath !== undefined };
      }),
  };
}

/** Links the files: stored files are replaced, never written to. */
async function copyFiles(files: { readonly metadataPath: string; readonly rootfsPath?: string }, to: ImageTarget) {
  await sameFile(files.metadataPath, to.metadataPath);
  if (files.rootfsPath !== undefined) await sameFile(files.rootfsPath, to.rootfsPath);
}

/** Copies on a file system without links. */
const sameFile = (from: string, to: string): Promise<void> => link(from, to).catch(() => copyFile(from, to));
