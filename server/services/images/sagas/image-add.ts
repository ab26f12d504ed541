// The files of an image are placed and recorded with its aliases, or deleted. Files that another project has too are placed again, as an
// image nobody has would be, and are never deleted here.
import type { ImageDocument } from '../../../records/documents.ts';
import type { Upload, AddImageDeps } from '../new-image.ts';
import type { Saga } from '../../../operations/saga.ts';
import { errors } from '../../../api/errors.ts';
import { placeImageFiles, removeImageFiles } from '../image-files.ts';
import { rm } from 'node:fs/promises';
import { removeRecord } from '../../saga-records.ts';
import { requireProject } from '../../project-scope.ts';
import { plainName, projectOf, qualifiedName } from '../../../api/project/project-names.ts';
import { isShared, sharersOf } from '../image-deps.ts';

export interface AddParams {
  /** The qualified name. */
  readonly fingerprint: string;
  readonly document: ImageDocument;
  readonly metadataPath: string;
  readonly rootfsPath: string | null;
  readonly aliases: Upload['aliases'];
}

export function addImageSaga(deps: Pick<AddImageDeps, 'records' | 'dir'>): Saga<AddParams> {
  return {
    kind: 'image-add',
    onRestart: 'unwind',
    begin: (changes, { fingerprint, document }) => {
      if (deps.records.images.has(fingerprint)) throw errors.exists('image', plainName(fingerprint));
      refuseOtherParts(deps.records, fingerprint, document.split);
      requireProject(deps.records, changes, fingerprint);
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
    commit: (changes, { fingerprint, document, aliases }) => {
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

/** The same bytes, cut in parts at another place, have the same fingerprint and would be another image. */
export function refuseOtherParts(records: AddImageDeps['records'], image: string, split: boolean): void {
  if (sharersOf(records, image).every(({ document }) => document.split === split)) return;
  throw errors.badRequest(
    `The files do not fit the fingerprint ${plainName(image)}: they are cut in parts at another place`,
  );
}
