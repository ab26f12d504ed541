// Where custom volumes lie on the host, for the devices that attach them.
import { isTrue } from '../../api/container-config.ts';
import type { HostVolume } from '../../drivers/devices/device.ts';
import type { Records } from '../../records/records.ts';
import type { Pools } from '../pools.ts';
import { volumeKey } from './volume-users.ts';

export type HostVolumes = (pool: string, name: string) => HostVolume | undefined;

export function hostVolumes(deps: { readonly records: Records; readonly pools: Pools }): HostVolumes {
  return (pool, name) => {
    const document = deps.records.volumes.get(volumeKey({ pool, name }))?.document;
    if (document?.lifecycle !== 'ready') return undefined;
    return {
      path: deps.pools.volumePath(pool, { type: 'custom', name }),
      idmapped: !isTrue(document.config['security.unmapped'] ?? ''),
    };
  };
}
