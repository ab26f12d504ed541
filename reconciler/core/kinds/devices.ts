// Finds the networks, pools and volumes that devices of containers and profiles refer to, from the tables of server/api/devices.
import { deviceSchema } from '../../../server/api/devices/index.ts';
import type { Json } from '../documents/document.ts';
import type { Reference } from './kind.ts';
import { isMap, mapOf, textOf } from '../documents/json-values.ts';

export const deviceReferences = (devices: Json | undefined): readonly Reference[] =>
  Object.entries(mapOf(devices)).flatMap(([device, written]) => {
    const config = isMap(written) ? textsOf(written) : {};
    const found = deviceSchema(config['type'])?.references?.(config) ?? [];
    return found.map(({ kind, name, property, mayBeHosts }): Reference => ({
      kind,
      name,
      path: `devices.${device}.${property}`,
      severity: mayBeHosts ? 'warning' : 'error',
    }));
  });

const textsOf = (written: object): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(written).flatMap(([key, value]) => [[key, textOf(value) ?? '']]));
