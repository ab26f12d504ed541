// What the use cases of images work with, and the names of an image as URL and lock.
import type { DamageCheck } from '../../drivers/image/damage.ts';
import type { EventHub } from '../../events/hub.ts';
import type { Clock } from '../../lib/clock.ts';
import type { KeyedMutex } from '../../lib/keyed-mutex.ts';
import type { Operations } from '../../operations/manager.ts';
import type { Sagas } from '../../operations/saga.ts';
import type { Records } from '../../records/records.ts';
import type { Pools } from '../storage/pools.ts';
import type { ImageSecrets } from './image-secrets.ts';
import type { ImageUsers } from './image-users.ts';

export interface ImageStoreDeps {
  readonly records: Records;
  readonly pools: Pools;
  readonly operations: Operations;
  readonly sagas: Sagas;
  readonly events: EventHub;
  readonly locks: KeyedMutex;
  readonly clock: Clock;
  readonly secrets: ImageSecrets;
  readonly users: ImageUsers;
  /** Where image files are: FINGERPRINT and, for split images, FINGERPRINT.rootfs. */
  readonly dir: string;
  readonly damage: DamageCheck;
}

export const imageUrl = (fingerprint: string): string => `/1.0/images/${fingerprint}`;

export const imageLock = (fingerprint: string): string => `image/${fingerprint}`;
