// Keeps enough copies of images in a cluster, and this member's copies current: each minute, in the background. Deletes copies of images that
// another member has replaced.
import type { ServiceParts } from '../shared/service-parts.ts';
import { imagesOfCluster, otherHolders } from '../../membership/cluster-images.ts';
import { newHolders } from '../../membership/image-replicas.ts';
import { plainName } from '../../api/project/project-names.ts';
import { errorText } from '../../lib/shared/reason.ts';
import type { ScheduledTask } from '../shared/scheduler.ts';
import { settingOf } from '../shared/settings.ts';
import type { ImageStore } from './image-store.ts';
import type { MemberImages } from './member-images.ts';

export interface ReplicateImagesDeps extends Pick<ServiceParts, 'records' | 'cluster' | 'log'> {
  readonly images: Pick<ImageStore, 'remove'>;
  readonly members: Pick<MemberImages, 'fetch' | 'repair'>;
}

export const replicateImages = (deps: ReplicateImagesDeps): ScheduledTask => ({
  name: 'copies of images',
  run: async (_minute, signal) => {
    if (!deps.cluster.isOn) return;
    for (const { name } of imagesOfCluster(deps.records)) {
      if (signal.aborted) return;
      try {
        await keep(deps, name, signal);
      } catch (error) {
        if (signal.aborted) return;
        deps.log.warn(`The copy of the image ${plainName(name)} is not as the cluster has it: ${errorText(error)}`);
      }
    }
  },
});

async function keep(
  { records, cluster, images, members }: ReplicateImagesDeps,
  image: string,
  signal: AbortSignal,
): Promise<void> {
  const here = cluster.members.here;
  const own = records.images.get(image)?.document;
  if (own?.isReplaced === true && own.lifecycle === 'ready') return images.remove(undefined, image, signal);
  if (own !== undefined) return members.repair(image);
  const others = otherHolders(records, image).flatMap(({ member, document }) =>
    document.isReplaced === true ? [] : [member],
  );
  const fit = cluster.members
    .list()
    .filter(
      ({ isPresent, document, present }) => isPresent && document.evacuated !== true && present?.isReadOnly !== true,
    );
  const wish = {
    image,
    wanted: Number(settingOf(records, 'cluster.images_minimal_replica')),
    candidates: fit.map(({ number }) => number),
    holders: others,
  };
  const isThere = others.some((holder) => cluster.members.isPresent(holder));
  if (isThere && newHolders(wish).includes(here)) await members.fetch(image, signal);
}
