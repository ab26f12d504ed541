// The saga that deletes an image with its aliases; the last project that has it also deletes its files and their unpacked copies in pools.
import { errors } from '../../../api/errors.ts';
import { plainName, projectOf } from '../../../api/project/project-names.ts';
import type { Saga } from '../../../operations/saga.ts';
import type { Changes } from '../../../records/changes.ts';
import { ofProject } from '../../shared/project-scope.ts';
import { makeReady, removeRecord } from '../../shared/saga-records.ts';
import { removeImageFiles } from '../image-files.ts';
import { otherHolders } from '../../../membership/cluster-images.ts';
import { isShared, type ImageStoreDeps } from '../image-deps.ts';

export interface DeleteImageParams {
  /** The qualified name. */
  readonly fingerprint: string;
}

/** Runs under the lock of the files: concurrent deletions by two projects are serialized, so that one of them is the last. `handOver`:
 *  changes that happen if and only if the deletion begins, which a crash does not end. */
export function deleteImageSaga(
  { records, pools, users, dir }: Pick<ImageStoreDeps, 'records' | 'pools' | 'users' | 'dir'>,
  handOver: (changes: Changes) => void = () => {},
): Saga<DeleteImageParams> {
  const unlessShared =
    (work: (fingerprint: string) => Promise<void>) =>
    async ({ fingerprint }: DeleteImageParams): Promise<void> => {
      if (!isShared(records, fingerprint)) await work(plainName(fingerprint));
    };
  return {
    kind: 'image-delete',
    onRestart: 'finish',
    begin(changes, { fingerprint }) {
      const document = records.images.get(fingerprint)?.document;
      if (document?.lifecycle !== 'ready') throw errors.notFound('image', plainName(fingerprint));
      changes.put('images', fingerprint, { ...document, lifecycle: 'deleting' });
      handOver(changes);
    },
    steps: [
      // No new users come: the image is no longer ready.
      { name: 'users', execute: unlessShared((files) => users.ended(files)) },
      { name: 'unpacked copies', execute: unlessShared((files) => pools.forgetImage(files)) },
      { name: 'files', execute: unlessShared((files) => removeImageFiles(dir, files)) },
    ],
    commit(changes, { fingerprint }) {
      removeRecord(records, changes, 'images', fingerprint);
      // Another member has the image; aliases belong to all members.
      if (otherHolders(records, fingerprint).length > 0) return;
      for (const { name, document } of ofProject(records.aliases.list(), projectOf(fingerprint)))
        if (document.target === plainName(fingerprint)) changes.delete('aliases', name);
    },
    rollBack: (changes, { fingerprint }) => makeReady(records, changes, 'images', fingerprint),
  };
}
