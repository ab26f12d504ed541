// An image is deleted with its files, its unpacked copies in pools and its aliases.
import { errors } from '../../../api/errors.ts';
import type { Saga } from '../../../operations/saga.ts';
import { makeReady, removeRecord } from '../../saga-records.ts';
import { removeImageFiles } from '../image-files.ts';
import type { ImageStoreDeps } from '../image-deps.ts';

export interface DeleteImageParams {
  readonly fingerprint: string;
}

export function deleteImageSaga({
  records,
  pools,
  users,
  dir,
}: Pick<ImageStoreDeps, 'records' | 'pools' | 'users' | 'dir'>): Saga<DeleteImageParams> {
  return {
    kind: 'image-delete',
    onRestart: 'finish',
    begin(changes, { fingerprint }) {
      const document = records.images.get(fingerprint)?.document;
      if (document?.lifecycle !== 'ready') throw errors.notFound('image', fingerprint);
      changes.put('images', fingerprint, { ...document, lifecycle: 'deleting' });
    },
    steps: [
      // No new ones come: the image is no longer ready.
      { name: 'users', execute: ({ fingerprint }) => users.ended(fingerprint) },
      { name: 'unpacked copies', execute: ({ fingerprint }) => pools.forgetImage(fingerprint) },
      { name: 'files', execute: ({ fingerprint }) => removeImageFiles(dir, fingerprint) },
    ],
    commit(changes, { fingerprint }) {
      removeRecord(records, changes, 'images', fingerprint);
      for (const { name, document } of records.aliases.list())
        if (document.target === fingerprint) changes.delete('aliases', name);
    },
    rollBack: (changes, { fingerprint }) => makeReady(records, changes, 'images', fingerprint),
  };
}
