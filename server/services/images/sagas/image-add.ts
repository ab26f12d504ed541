// The files of an image are placed and recorded with its aliases, or deleted.
import type { ImageDocument } from '../../../records/documents.ts';
import type { Upload, AddImageDeps } from '../new-image.ts';
import type { Saga } from '../../../operations/saga.ts';
import { errors } from '../../../api/errors.ts';
import { placeImageFiles, removeImageFiles } from '../image-files.ts';
import { rm } from 'node:fs/promises';
import { removeRecord } from '../../saga-records.ts';

export interface AddParams {
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
      if (deps.records.images.has(fingerprint)) throw errors.exists('image', fingerprint);
      changes.put('images', fingerprint, { ...document, lifecycle: 'creating' });
    },
    steps: [
      {
        name: 'files',
        execute: ({ fingerprint, metadataPath, rootfsPath }) =>
          placeImageFiles(deps.dir, fingerprint, metadataPath, rootfsPath ?? undefined),
        undo: async ({ fingerprint, metadataPath, rootfsPath }) => {
          await removeImageFiles(deps.dir, fingerprint);
          for (const path of [metadataPath, rootfsPath]) if (path !== null) await rm(path, { force: true });
        },
      },
    ],
    commit: (changes, { fingerprint, document, aliases }) => {
      changes.put('images', fingerprint, document);
      for (const { name, description } of aliases) {
        if (deps.records.aliases.has(name)) throw errors.exists('image alias', name);
        changes.put('aliases', name, { v: 1, description, target: fingerprint });
      }
    },
    rollBack: (changes, { fingerprint }) => removeRecord(deps.records, changes, 'images', fingerprint),
  };
}
