// Refuses disks of host paths that are missing or cannot be mounted, when they are configured instead of at the next start.
import { errors } from '../../../api/errors.ts';
import { isDisk, isRequired } from '../../../api/devices/index.ts';
import { isSet } from '../../../api/devices/device-schema.ts';
import { plainName } from '../../../api/project/project-names.ts';
import type { Problem } from '../../../api/problem.ts';
import type { DeviceMap } from '../../../api/schema/common-schemas.ts';
import { blockContent, unmountable } from '../../../drivers/devices/block-file-system.ts';
import type { HostPaths } from '../../../drivers/devices/host-paths.ts';
import type { Records } from '../../../records/records.ts';
import { isThere } from '../../../lib/shared/missing-files.ts';
import type { ContainerDocument } from '../../../records/documents.ts';
import { expand } from '../../shared/expand.ts';
import { profilesOf } from '../../shared/project-scope.ts';
import { checkDisks } from '../../limits/host-paths.ts';
import { succeeds } from '../../../lib/shared/attempt.ts';

export interface SourceDeps {
  readonly records: Pick<Records, 'projects'>;
  readonly paths?: HostPaths;
}

/** `name`: of a container or profile. `before`: its current devices, whose older choices must not block an unrelated change. The start
 *  checks again what this host lacks now. Throws AppError. */
export function refuseUnmountable(
  { records }: SourceDeps,
  name: string,
  sent: DeviceMap,
  before?: DeviceMap,
): Promise<void> {
  return refuse(records, name, changedSources(sent, before), async ({ source = '' }) => {
    const found = await blockContent(source).catch(() => undefined);
    if (found === undefined || (found.content !== undefined && 'fileSystem' in found.content)) return undefined;
    return unmountable(source, found.content);
  });
}

/** The same for a container, which also needs the sources of its disks: those that it is sent, and those of the profiles that it is sent.
 *  A profile may be meant for other hosts. `before`: the container before the change. */
export async function refuseSources(
  deps: SourceDeps & { readonly records: Records },
  name: string,
  sent: Pick<ContainerDocument, 'profiles' | 'devices'>,
  before?: Pick<ContainerDocument, 'profiles' | 'config' | 'devices'>,
): Promise<void> {
  await refuseUnmountable(deps, name, sent.devices, before?.devices);
  if (deps.paths?.isOtherHost === true) return;
  const profileOf = profilesOf(deps.records, name);
  const { devices } = expand({ ...sent, config: {} }, profileOf);
  const required = changedSources(devices, before && expand(before, profileOf).devices).filter(([, disk]) =>
    isRequired(disk),
  );
  await refuse(deps.records, name, required, async ({ source = '' }) => {
    if (await isThere(source)) return undefined;
    return `cannot be ${source}: it does not exist on this host; make it, or set required: false for a disk that is left out meanwhile`;
  });
}

type Device = readonly [name: string, properties: DeviceMap[string]];

function changedSources(sent: DeviceMap, before: DeviceMap = {}): readonly Device[] {
  return Object.entries(sent).filter(
    ([name, device]) =>
      isDisk(device) &&
      !isSet(device, 'pool') &&
      device['source']?.startsWith('/') === true &&
      before[name]?.['source'] !== device['source'],
  );
}

async function refuse(
  records: Pick<Records, 'projects'>,
  name: string,
  changed: readonly Device[],
  whyNot: (properties: Device[1]) => Promise<string | undefined>,
): Promise<void> {
  const problems: Problem[] = [];
  for (const [device, properties] of changed) {
    const message = await whyNot(properties);
    if (message !== undefined) problems.push({ path: `devices.${device}.source`, message });
  }
  // A project that may not show a path learns nothing about it here: the restriction itself is reported with the other problems.
  if (problems.length > 0 && mayShow(records, name, Object.fromEntries(changed)))
    throw errors.invalid(`devices of ${plainName(name)}`, problems);
}

const mayShow = (records: Pick<Records, 'projects'>, name: string, devices: DeviceMap): boolean =>
  succeeds(() => checkDisks(records, name, devices));
