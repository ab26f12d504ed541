// The source of a custom volume's migration: offers and sends. Changes nothing here.
import { errors } from '../../api/errors.ts';
import type { VolumeMigrationOffer } from '../../api/container/migration-messages.ts';
import { plainName } from '../../api/project/project-names.ts';
import type { Operation } from '../../api/operation.ts';
import type { StorageVolumePost } from '../../api/storage/volume.ts';
import type { KeyedMutex } from '../../lib/keyed-mutex.ts';
import type { Operations } from '../../operations/manager.ts';
import { withoutServerKeys } from '../expand.ts';
import { ownedBy } from '../owned-records.ts';
import { readyVolume } from '../storage/custom-volumes.ts';
import type { VolumeId } from '../storage/volume-users.ts';
import { customUrl } from '../storage/volume-urls.ts';
import { volumeLock } from '../storage/volume-checks.ts';
import { dialMeeting, type ConnectDeps } from './connect.ts';
import { startMigration } from './operation.ts';
import { offerHead, serve, type ServeDeps } from './source.ts';

export type VolumeSourceDeps = ServeDeps &
  ConnectDeps & { readonly operations: Operations; readonly locks: KeyedMutex };

/** POST storage-pools/POOL/volumes/custom/NAME {migration: true}. Containers may go on using the volume. */
export function migrateVolume(
  deps: VolumeSourceDeps,
  type: string,
  volume: VolumeId,
  body: StorageVolumePost,
): Operation {
  if (type !== 'custom')
    throw errors.badRequest(
      `Volumes of type ${type} migrate with what they belong to; only custom ones do by themselves`,
    );
  deps.pools.use(volume.pool);
  readyVolume(deps.records, volume);
  const { target } = body;
  const meeting = typeof target === 'object' && target !== null ? dialMeeting('target', target) : undefined;
  return startMigration(deps, {
    description: 'Migrating storage volume',
    resources: { storage_volumes: [customUrl(volume)] },
    meeting,
    run: (peer, handle, signal) =>
      deps.locks.run(volumeLock(volume), async () => {
        const document = readyVolume(deps.records, volume);
        const ref = { type: 'custom', name: volume.name } as const;
        const snapshots = ownedBy(deps.records, 'volumeSnapshots', document.uuid)
          .filter((one) => one.document.lifecycle === 'ready')
          .toSorted((a, b) => Date.parse(a.document.createdAt) - Date.parse(b.document.createdAt));
        const head = offerHead(deps, 'volume', plainName(volume.name), document.uuid, volume.pool);
        const { driver, pool } = deps.pools.use(volume.pool);
        const trees = [{ volume: ref }, ...snapshots.map(({ name }) => ({ volume: ref, snapshot: name }))];
        const native = await Promise.all(trees.map((tree) => driver.hasNativeForm(pool, tree)));
        const offer: VolumeMigrationOffer = {
          ...head,
          ...(native.includes(false) ? { formats: ['tar'] } : {}),
          object: { description: document.description, config: withoutServerKeys(document.config) },
          snapshots: snapshots.map(({ name, document: { createdAt, description, config, expiresAt } }) => ({
            name,
            createdAt,
            ...(expiresAt === undefined ? {} : { expiresAt }),
            description,
            config: withoutServerKeys(config),
          })),
        };
        await serve(deps, peer, { volume: { pool: volume.pool, ref }, offer }, handle, signal);
      }),
  });
}
