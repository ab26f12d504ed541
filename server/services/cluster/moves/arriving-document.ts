// The record of a moved container at its new member: the same machine, without facts of the former host. Pure.
import type { ConfigMap, DeviceMap } from '../../../api/schema/common-schemas.ts';
import { idMapKeys } from '../../containers/shared/id-maps.ts';

/** Ids and interface names that the former host assigned. */
const isOfHost = (key: string): boolean =>
  Object.values<string>(idMapKeys).includes(key) || /^volatile\.[^.]+\.(host_name|last_state\..*)$/.test(key);

/** Keeps addresses, notes and the last state. Files arrive with the ids that the container sees. */
export function arrivingConfig(config: ConfigMap): ConfigMap {
  const kept = Object.entries(config).filter(([key]) => !isOfHost(key));
  return { ...Object.fromEntries(kept), [idMapKeys.files]: '[]' };
}

/** `devices`: with the root disk in the target pool. */
export const arriving = <T extends { readonly config: ConfigMap; readonly devices: DeviceMap }>(
  document: T,
  devices: DeviceMap,
): T => ({ ...document, config: arrivingConfig(document.config), devices });
