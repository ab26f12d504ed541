// A container as the member records it that it moves to: the same machine, without what only the host knows that it comes from. Pure.
import type { ConfigMap, DeviceMap } from '../../../api/schema/common-schemas.ts';
import { idMapKeys } from '../../containers/shared/id-maps.ts';

/** Ids and names of interfaces that the other host gave out. */
const isOfHost = (key: string): boolean =>
  Object.values<string>(idMapKeys).includes(key) || /^volatile\.[^.]+\.(host_name|last_state\..*)$/.test(key);

/** Addresses, notes and what it did last stay. Its files come under the ids that the container sees. */
export function arrivingConfig(config: ConfigMap): ConfigMap {
  const kept = Object.entries(config).filter(([key]) => !isOfHost(key));
  return { ...Object.fromEntries(kept), [idMapKeys.files]: '[]' };
}

/** `devices`: with the root disk in the pool that it comes to. */
export const arriving = <T extends { readonly config: ConfigMap; readonly devices: DeviceMap }>(
  document: T,
  devices: DeviceMap,
): T => ({ ...document, config: arrivingConfig(document.config), devices });
