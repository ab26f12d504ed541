// The use cases of images: local ones, remote ones, and making new ones.
import type { Foundation } from '../foundation.ts';
import type { Common } from './common.ts';
import type { ImagePost } from '../../api/image/image.ts';
import { version } from '../../api/version.ts';
import { damageCheck, noDamageCheck } from '../../drivers/image/damage.ts';
import { noRemotes, openRemotes } from '../../drivers/remote/remotes.ts';
import { Aliases } from '../../services/images/aliases.ts';
import { ImagePulls } from '../../services/images/image-pulls.ts';
import { ImageRefresh } from '../../services/images/image-refresh.ts';
import { ImageSecrets } from '../../services/images/image-secrets.ts';
import { ImageStore } from '../../services/images/image-store.ts';
import type { ImageUsers } from '../../services/images/image-users.ts';
import { MemberImages } from '../../services/images/member-images.ts';
import { imageRoom } from '../../services/limits/image-room.ts';
import type { Caller } from '../../services/shared/caller.ts';
import { proxySettings } from '../../services/shared/settings.ts';
import { makeImage } from '../../services/transfer/publish/make-image.ts';
import type { DaemonOptions } from '../daemon-options.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

export type ImageParts = ReturnType<typeof composeImages>;

export function composeImages(
  base: Foundation,
  common: Common,
  users: ImageUsers,
  remoteLimits: DaemonOptions['remoteLimits'],
) {
  const { isDryRun, dirs, clock, records, cluster } = base;
  const addDeps = { ...common, dir: dirs.images, damage: isDryRun ? noDamageCheck : damageCheck };
  const members = new MemberImages({ ...addDeps, cluster, users });
  const imageDeps = { ...addDeps, secrets: new ImageSecrets(), users, members };
  const images = new ImageStore(imageDeps);
  const remotes = (isDryRun ? () => noRemotes : openRemotes)({
    proxies: () => proxySettings(records, process.env),
    nowMs: () => clock.nowMs(),
    version,
    ...withoutUndefined({ limits: remoteLimits }),
  });
  const pulls = new ImagePulls({
    ...imageDeps,
    room: (project) => imageRoom(records, project),
    remotes,
  });
  const making = { ...common, pulls, publishing: imageDeps, copying: { ...imageDeps, images } };
  return {
    members,
    imageDeps,
    images,
    pulls,
    imageRefresh: new ImageRefresh({ ...common, cluster, images, pulls }),
    aliases: new Aliases({ ...common, images }),
    makeImage: (caller: Caller, body: ImagePost, project: string) => makeImage(making, caller, body, project),
  };
}
