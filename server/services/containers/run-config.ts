// Turns a stored container into the plain data a runtime starts from: devices resolved, ids mapped, paths known.
import { isTrue } from '../../api/container-config.ts';
import type { ConfigMap } from '../../api/common.ts';
import { errors } from '../../api/errors.ts';
import { deviceTypes } from '../../drivers/devices/index.ts';
import type { IdMapEntry, RunConfig } from '../../drivers/runtime/driver.ts';
import { nicNetwork, type Expanded } from '../expand.ts';
import type { ContainerEntry } from './view.ts';

export interface RunPaths {
  readonly rootfs: string;
  readonly logDir: string;
}

export interface PreparedRun {
  readonly run: RunConfig;
  /** volatile.* keys to keep once it runs. */
  readonly volatile: ConfigMap;
  /** Managed or other networks its nics sit on. */
  readonly networks: readonly string[];
}

export async function prepareRun(
  entry: ContainerEntry,
  expanded: Expanded,
  paths: RunPaths,
  idMap: readonly IdMapEntry[],
): Promise<PreparedRun> {
  const { name, document } = entry;
  const takenNames = new Set(fixedNames(document.config, expanded));
  const nics: RunConfig['nics'][number][] = [];
  const mounts: RunConfig['mounts'][number][] = [];
  const volatile: Record<string, string> = {};
  for (const [device, properties] of Object.entries(expanded.devices).sort(([a], [b]) => (a < b ? -1 : 1))) {
    const type = deviceTypes[properties['type'] ?? ''];
    if (type === undefined) {
      throw errors.notImplemented(
        `The device ${device} of type ${properties['type'] ?? '(none)'} is not available in this release`,
      );
    }
    const part = await type.start({
      device,
      properties,
      containerUuid: document.uuid,
      volatile: volatileOf(document.config, device),
      takenNames,
    });
    nics.push(...part.nics);
    mounts.push(...part.mounts);
    for (const nic of part.nics) takenNames.add(nic.name);
    for (const [key, value] of Object.entries(part.volatile)) volatile[`volatile.${device}.${key}`] = value;
  }
  const privileged = isTrue(expanded.config['security.privileged'] ?? '');
  return {
    run: {
      name,
      hostname: name,
      rootfs: paths.rootfs,
      logDir: paths.logDir,
      architecture: document.architecture,
      idmap: privileged ? [] : idMap,
      config: expanded.config,
      nics,
      mounts,
    },
    volatile,
    networks: Object.values(expanded.devices).flatMap((device) => nicNetwork(device) ?? []),
  };
}

/** Interface names that other nics have for good, so that a new nic does not take one of them. */
function fixedNames(config: ConfigMap, expanded: Expanded): readonly string[] {
  return Object.entries(expanded.devices).flatMap(([device, properties]) => {
    if (properties['type'] !== 'nic') return [];
    return properties['name'] ?? config[`volatile.${device}.name`] ?? [];
  });
}

function volatileOf(config: ConfigMap, device: string): ConfigMap {
  const prefix = `volatile.${device}.`;
  const own = Object.entries(config).filter(([key]) => key.startsWith(prefix));
  return Object.fromEntries(own.map(([key, value]) => [key.slice(prefix.length), value]));
}
