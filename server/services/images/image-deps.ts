// The dependencies of image use cases, the locks of an image, and the projects that share its files.
import type { ServiceParts } from '../shared/service-parts.ts';
import type { Operation } from '../../api/operation.ts';
import type { DamageCheck } from '../../drivers/image/damage.ts';
import { plainName } from '../../api/project/project-names.ts';
import type { ImageDocument } from '../../records/documents.ts';
import type { Records } from '../../records/records.ts';
import type { Pools } from '../storage/pools.ts';
import type { ImageSecrets } from './image-secrets.ts';
import type { Caller } from '../shared/caller.ts';
import type { ImageUsers } from './image-users.ts';

/** Copies of images on other members of a cluster; see MemberImages. */
export interface OtherCopies {
  fetch(image: string, signal: AbortSignal): Promise<void>;
  changeOthers(image: string, changed: ImageDocument): Promise<void>;
  delete(caller: Caller, image: string, remove: (signal: AbortSignal) => Promise<void>): Operation;
  removeAll(image: string, removeHere: (signal: AbortSignal) => Promise<void>, signal: AbortSignal): Promise<void>;
}

export interface ImageStoreDeps extends Pick<
  ServiceParts,
  'records' | 'operations' | 'sagas' | 'events' | 'locks' | 'clock'
> {
  readonly pools: Pools;
  readonly secrets: ImageSecrets;
  readonly users: ImageUsers;
  /** Where image files are: FINGERPRINT and, for split images, FINGERPRINT.rootfs. */
  readonly dir: string;
  readonly damage: DamageCheck;
  readonly members: OtherCopies;
}

export const imageLock = (image: string): string => `image/${image}`;

/** The lock of the files that all projects share; taken after the lock of a record, which also sorts first. */
export const imageFilesLock = (image: string): string => `imagefiles/${plainName(image)}`;

/** Whether another project has the image, too, in any state. The caller holds the lock of the files, so the answer stays true. */
export const isShared = (records: Pick<Records, 'images'>, image: string): boolean =>
  sharersOf(records, image).length > 0;

export const sharersOf = (records: Pick<Records, 'images'>, image: string) =>
  records.images.list().filter(({ name }) => name !== image && plainName(name) === plainName(image));
