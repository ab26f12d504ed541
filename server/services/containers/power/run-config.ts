// Turns a stored container into the plain data a runtime starts from: devices resolved, ids mapped, paths known.
import type { ConfigMap } from '../../../api/schema/common-schemas.ts';
import { isPresent } from '../../../api/devices/index.ts';
import type { DeviceRun } from '../../../drivers/devices/device.ts';
import type { HostPaths } from '../../../drivers/devices/host-paths.ts';
import type { IdMapEntry, RunConfig } from '../../../drivers/runtime/driver.ts';
import { nicNetwork, type ExpandedSettings } from '../../shared/expand.ts';
import type { HostVolumes } from '../../storage/host-volumes.ts';
import { deviceRuns, volatileKeys } from '../devices/prepare-devices.ts';
import type { ContainerEntry } from '../../shared/container-view.ts';
import { plainName } from '../../../api/project/project-names.ts';

export interface RunPaths {
  readonly rootfs: string;
  readonly logDir: string;
  readonly volumes: HostVolumes;
  readonly idmap: readonly IdMapEntry[];
  /** Id maps that the root file system's files may have on disk; undefined: unknown. */
  readonly fileMaps: readonly (readonly IdMapEntry[])[] | undefined;
  /** Default: the host of this process. */
  readonly host?: HostPaths;
  /** Host directories that disks may show. Absent: any. */
  readonly shownPaths?: readonly string[] | undefined;
}

export interface PreparedRun {
  readonly run: RunConfig;
  /** By device name. */
  readonly devices: ReadonlyMap<string, DeviceRun>;
  /** volatile.* keys to keep once it runs. */
  readonly volatile: ConfigMap;
  /** Networks of its nics, managed or not. */
  readonly networks: readonly string[];
}

export async function prepareRun(
  entry: ContainerEntry,
  expanded: ExpandedSettings,
  paths: RunPaths,
): Promise<PreparedRun> {
  const { name, document } = entry;
  const { rootfs, volumes, host, shownPaths } = paths;
  const options = { rootfs, volumes, shownPaths, ...(host === undefined ? {} : { host }) };
  const runs = await deviceRuns(document, expanded, options);
  const all = [...runs.values()];
  return {
    run: {
      name,
      hostname: plainName(name),
      rootfs: paths.rootfs,
      logDir: paths.logDir,
      architecture: document.architecture,
      idmap: paths.idmap,
      ...(paths.fileMaps === undefined ? {} : { fileMaps: paths.fileMaps }),
      config: expanded.config,
      nics: all.flatMap((one) => one.nics),
      mounts: all.flatMap((one) => one.mounts),
      nodes: all.flatMap((one) => one.nodes),
      diskRates: all.flatMap((one) => one.diskRates),
      properties: Object.fromEntries(Object.entries(expanded.devices).filter(([, one]) => isPresent(one))),
    },
    devices: runs,
    volatile: volatileKeys(runs),
    networks: Object.values(expanded.devices).flatMap((device) => nicNetwork(device) ?? []),
  };
}
