// Checks disks of a container again at each start and hot-plug: a link on a host path may have changed since the device was configured, and
// an older release may have accepted it.
import { realpathSync } from 'node:fs';
import { isDisk } from '../../api/devices/index.ts';
import { AppError } from '../../api/errors.ts';
import { emptyContents } from '../../api/project/project-contents.ts';
import { plainName, projectOf } from '../../api/project/project-names.ts';
import {
  listOf,
  isRestricted,
  outermostPaths,
  restrictionProblems,
  type ResolvePath,
} from '../../api/project/project-restrictions.ts';
import type { DeviceMap } from '../../api/schema/common-schemas.ts';
import type { Records } from '../../records/records.ts';
import { attempt } from '../../lib/shared/attempt.ts';

/** Where a path of this host leads. */
export const resolveOnHost: ResolvePath = (path) => attempt(() => realpathSync(path));

/** Throws AppError forbidden if a disk shows paths or volumes that the container's project may not show like this. */
export function checkDisks(records: Pick<Records, 'projects'>, container: string, devices: DeviceMap): void {
  const project = projectOf(container);
  const config = records.projects.get(project)?.document.config ?? {};
  const disks = Object.fromEntries(Object.entries(devices).filter(([, device]) => isDisk(device)));
  const members = [{ name: plainName(container), config: {}, devices: disks }];
  const details = restrictionProblems({ ...emptyContents(project, config), containers: members }, resolveOnHost)
    .filter(({ path }) => path.endsWith('.source') || path.endsWith('.readonly'))
    .map(({ path, message }) => ({ path, message }));
  if (details.length === 0) return;
  const text = details.map(({ path, message }) => `${path} ${message}`).join('; ');
  throw new AppError('forbidden', `The project ${project} does not allow this: ${text}`, { details });
}

/** Directories that disks of the container may show; undefined: any. The mount itself is confined to them: between checkDisks and the
 *  mount, anyone who can write below one of them can insert a link. */
export function shownPaths(records: Pick<Records, 'projects'>, container: string): readonly string[] | undefined {
  const config = records.projects.get(projectOf(container))?.document.config ?? {};
  const paths = outermostPaths(listOf(config['restricted.devices.disk.paths']));
  return isRestricted(config) && paths.length > 0 ? paths : undefined;
}
