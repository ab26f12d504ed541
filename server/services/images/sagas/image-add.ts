// The saga that places the files of an image and records it with its aliases. Files shared with another project are rewritten but never
// deleted by rollback.
import type { ImageDocument } from '../../../records/documents.ts';
import type { Upload, AddImageDeps } from '../new-image.ts';
import type { Saga } from '../../../operations/saga.ts';
import { errors } from '../../../api/errors.ts';
import { placeImageFiles, removeImageFiles } from '../image-files.ts';
import { rm } from 'node:fs/promises';
import { removeRecord } from '../../shared/saga-records.ts';
import { requireProject } from '../../shared/project-scope.ts';
import { otherHolders } from '../../../membership/cluster-images.ts';
import type { Changes } from '../../../records/changes.ts';
import { plainName, projectOf, qualifiedName } from '../../../api/project/project-names.ts';
import { isShared, sharersOf } from '../image-deps.ts';

export interface AddParams {
  /** The qualified name. */
  readonly fingerprint: string;
  readonly document: ImageDocument;
  readonly metadataPath: string;
  readonly rootfsPath: string | null;
  readonly aliases: Upload['aliases'];
  /** The number of the cluster member it is copied from. */
  readonly copyOf?: number;
}

export function addImageSaga(deps: Pick<AddImageDeps, 'records' | 'dir'>): Saga<AddParams> {
  return {
    kind: 'image-add',
    onRestart: 'unwind',
    begin: (changes, { fingerprint, document }) => {
      if (deps.records.images.has(fingerprint)) throw errors.exists('image', plainName(fingerprint));
      refuseOtherParts(deps.records, fingerprint, document.split);
      requireProject(deps.records, changes, fingerprint, 'features.images');
      changes.put('images', fingerprint, { ...document, lifecycle: 'creating' });
    },
    steps: [
      {
        name: 'files',
        execute: ({ fingerprint, metadataPath, rootfsPath }) =>
          placeImageFiles(deps.dir, plainName(fingerprint), metadataPath, rootfsPath ?? undefined),
        undo: async ({ fingerprint, metadataPath, rootfsPath }) => {
          if (!isShared(deps.records, fingerprint)) await removeImageFiles(deps.dir, plainName(fingerprint));
          for (const path of [metadataPath, rootfsPath]) if (path !== null) await rm(path, { force: true });
        },
      },
    ],
    commit: (changes, { fingerprint, document, aliases, copyOf }) => {
      if (copyOf !== undefined) requireHolder(deps.records, changes, fingerprint, copyOf);
      changes.put('images', fingerprint, document);
      for (const { name, description } of aliases) {
        const alias = qualifiedName(projectOf(fingerprint), name);
        if (deps.records.aliases.has(alias)) throw errors.exists('image alias', name);
        changes.put('aliases', alias, { v: 1, description, target: plainName(fingerprint) });
      }
    },
    rollBack: (changes, { fingerprint }) => removeRecord(deps.records, changes, 'images', fingerprint),
  };
}

/** A copy is void if the image was deleted everywhere during the transfer. If the member it comes from has left the cluster, the copy is
 *  the only one. */
function requireHolder(records: AddImageDeps['records'], changes: Changes, image: string, from: number): void {
  const [holder] = otherHolders(records, image);
  if (holder !== undefined) changes.requireOther('images', holder);
  else if (records.members.list().some(({ document }) => document.number === from))
    throw errors.notFound('image', plainName(image));
}

/** The same bytes, split at another place, have the same fingerprint and would be another image. */
export function refuseOtherParts(records: AddImageDeps['records'], image: string, split: boolean): void {
  if (sharersOf(records, image).every(({ document }) => document.split === split)) return;
  throw errors.badRequest(`The files do not fit the fingerprint ${plainName(image)}: they are split at another place`);
}
