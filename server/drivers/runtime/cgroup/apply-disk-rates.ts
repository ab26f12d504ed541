// Writes the disk rates of a container to its cgroup.
import { errorText } from '../../../lib/shared/reason.ts';
import type { DeviceParts } from '../../device-parts.ts';
import { type CgroupTree, readGroupFile, writeGroupFiles } from './cgroup.ts';
import { diskRateValues } from './disk-rate-values.ts';

/** A kernel without this control causes a warning, not a failure. */
export function applyDiskRates(
  tree: CgroupTree,
  group: string,
  now: DeviceParts['diskRates'],
  gone: DeviceParts['diskRates'],
  warn: (reason: string) => void,
): void {
  if (now.length === 0 && gone.length === 0) return;
  const values = diskRateValues(now, gone, tree.version);
  try {
    const lacking = values.find(({ file }) => readGroupFile(tree, group, file) === undefined);
    if (lacking !== undefined) warn(`this kernel has no ${lacking.file}`);
    writeGroupFiles(tree, group, values);
  } catch (error) {
    warn(errorText(error));
  }
}
