// Refuses disks of block devices that cannot be mounted, when they are configured instead of at the next start.
import { errors } from '../../../api/errors.ts';
import { isDisk } from '../../../api/devices/index.ts';
import { isSet } from '../../../api/devices/device-schema.ts';
import type { Problem } from '../../../api/problem.ts';
import type { DeviceMap } from '../../../api/schema/common-schemas.ts';
import { blockContent, unmountable } from '../../../drivers/devices/block-file-system.ts';
import type { Records } from '../../../records/records.ts';
import { checkDisks } from '../../limits/host-paths.ts';
import { succeeds } from '../../../lib/shared/attempt.ts';

/** `name`: of a container or profile. `before`: its current devices, whose older choices must not block an unrelated change. The start
 *  checks again what this host lacks now. Throws AppError. */
export async function refuseUnmountable(
  records: Pick<Records, 'projects'>,
  name: string,
  sent: DeviceMap,
  before: DeviceMap = {},
): Promise<void> {
  const changed = Object.entries(sent).filter(
    ([name, device]) =>
      isDisk(device) &&
      !isSet(device, 'pool') &&
      device['source']?.startsWith('/') === true &&
      before[name]?.['source'] !== device['source'],
  );
  const problems: Problem[] = [];
  for (const [device, { source = '' }] of changed) {
    const found = await blockContent(source).catch(() => undefined);
    if (found === undefined || (found.content !== undefined && 'fileSystem' in found.content)) continue;
    problems.push({ path: `devices.${device}.source`, message: unmountable(source, found.content) });
  }
  // A project that may not show a path learns nothing about it here: the restriction itself is reported with the other problems.
  if (problems.length > 0 && mayShow(records, name, Object.fromEntries(changed)))
    throw errors.invalid(`devices of ${name}`, problems);
}

const mayShow = (records: Pick<Records, 'projects'>, name: string, devices: DeviceMap): boolean =>
  succeeds(() => checkDisks(records, name, devices));
