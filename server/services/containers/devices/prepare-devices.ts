// Prepares a container's devices for the runtime and the daemon. Reads the host, changes nothing.
import { join } from 'node:path';
import type { ConfigMap } from '../../../api/schema/common-schemas.ts';
import { isNic, resolveDevice } from '../../../api/devices/index.ts';
import { errors } from '../../../api/errors.ts';
import { type DeviceHandler, type DeviceRun, nothing } from '../../../drivers/devices/device.ts';
import { type HostPaths, thisHost } from '../../../drivers/devices/host-paths.ts';
import { deviceHandler } from '../../../drivers/devices/index.ts';
import type { ContainerDocument } from '../../../records/documents.ts';
import type { ExpandedSettings } from '../../shared/expand.ts';
import type { Pools } from '../../storage/pools.ts';
import type { HostVolumes } from '../../storage/host-volumes.ts';
import type { ContainerEntry } from '../../shared/container-view.ts';
import { withoutUndefined } from '../../../lib/shared/without-undefined.ts';

export interface DeviceRunsOptions {
  readonly rootfs: string;
  readonly host?: HostPaths;
  readonly volumes: HostVolumes;
  /** See DeviceContext. */
  readonly shownPaths?: readonly string[] | undefined;
}

/** By device name. `only`: prepares these devices; the names of the others stay reserved. */
export async function deviceRuns(
  document: Pick<ContainerDocument, 'uuid' | 'config'>,
  expanded: ExpandedSettings,
  options: DeviceRunsOptions,
  only?: ReadonlySet<string>,
): Promise<ReadonlyMap<string, DeviceRun>> {
  const takenNames = new Set(fixedNames(document.config, expanded));
  const runs = new Map<string, DeviceRun>();
  for (const [device, given] of Object.entries(expanded.devices).sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (only !== undefined && !only.has(device)) continue;
    const properties = resolveDevice(given);
    const handler = handlerOf(device, properties);
    if (options.host?.isOtherHost === true && handler.needsHost?.(properties) !== false) {
      runs.set(device, nothing);
      continue;
    }
    const run = await handler.start({
      device,
      properties,
      containerUuid: document.uuid,
      volatile: volatileOf(document.config, device),
      takenNames,
      rootfs: options.rootfs,
      host: options.host ?? thisHost,
      volumeOf: options.volumes,
      ...withoutUndefined({ shownPaths: options.shownPaths }),
    });
    for (const nic of run.nics) takenNames.add(nic.name);
    runs.set(device, run);
  }
  return runs;
}

export const rootfsOf = (pools: Pick<Pools, 'volumePath'>, { name, document }: ContainerEntry): string =>
  join(pools.volumePath(document.pool, { type: 'container', name }), 'rootfs');

function handlerOf(device: string, properties: ConfigMap): DeviceHandler {
  const handler = deviceHandler(properties);
  if (handler !== undefined) return handler;
  throw errors.notImplemented(
    `The device ${device} of type ${properties['type'] ?? '(none)'} is not available in this release`,
  );
}

export function volatileKeys(runs: ReadonlyMap<string, DeviceRun>): ConfigMap {
  const keys = [...runs].flatMap(([device, run]) =>
    Object.entries(run.volatile).map(([key, value]) => [`volatile.${device}.${key}`, value] as const),
  );
  return Object.fromEntries(keys);
}

/** Interface names that other nics have for good, so that a new nic does not take one. */
function fixedNames(config: ConfigMap, expanded: ExpandedSettings): readonly string[] {
  return Object.entries(expanded.devices).flatMap(([device, properties]) => {
    if (!isNic(properties)) return [];
    return properties['name'] ?? config[`volatile.${device}.name`] ?? [];
  });
}

function volatileOf(config: ConfigMap, device: string): ConfigMap {
  const prefix = `volatile.${device}.`;
  const own = Object.entries(config).filter(([key]) => key.startsWith(prefix));
  return Object.fromEntries(own.map(([key, value]) => [key.slice(prefix.length), value]));
}
