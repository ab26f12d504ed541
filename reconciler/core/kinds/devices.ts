// The networks, pools and volumes that devices of containers and profiles refer to. server/api/devices checks their properties.
import type { Json } from '../documents/document.ts';
import type { Reference } from './kind.ts';
import { isMap, mapOf, textOf } from '../documents/json-values.ts';

export function deviceReferences(devices: Json | undefined): readonly Reference[] {
  const references: Reference[] = [];
  for (const [name, device] of Object.entries(mapOf(devices))) {
    if (!isMap(device)) continue;
    const pool = textOf(device['pool']);
    if (device['type'] === 'disk' && pool !== undefined && pool !== '') {
      references.push({ kind: 'storage_pool', name: pool, path: `devices.${name}.pool`, severity: 'error' });
      const volume = textOf(device['source']);
      if (volume !== undefined && volume !== '' && device['path'] !== '/') {
        references.push({
          kind: 'storage_volume',
          name: `${pool}/${volume}`,
          path: `devices.${name}.source`,
          severity: 'error',
        });
      }
    }
    const network = textOf(device['network']);
    if (device['type'] === 'nic' && network !== undefined && network !== '') {
      references.push({ kind: 'network', name: network, path: `devices.${name}.network`, severity: 'error' });
    }
    const parent = textOf(device['parent']);
    if (device['type'] === 'nic' && parent !== undefined && parent !== '') {
      // macvlan, physical and sriov sit on host interfaces, which servers list only in part.
      const severity = device['nictype'] === 'bridged' ? 'error' : 'warning';
      references.push({ kind: 'network', name: parent, path: `devices.${name}.parent`, severity });
    }
  }
  return references;
}
