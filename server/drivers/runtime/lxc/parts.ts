// The parts of devices as lists: select, join and compare them. Pure.
import { noParts, type DeviceParts } from '../../device-parts.ts';

export const partKinds = ['nics', 'mounts', 'nodes', 'diskRates'] as const;

export const partsOf = (parts: DeviceParts, device: string): DeviceParts => pick(parts, (one) => one.device === device);
export const without = (parts: DeviceParts, device: string): DeviceParts => pick(parts, (one) => one.device !== device);
export function pick(parts: DeviceParts, fits: (part: { readonly device: string }) => boolean): DeviceParts {
  const picked: { -readonly [Key in keyof DeviceParts]: DeviceParts[Key] } = { ...noParts };
  for (const kind of partKinds) (picked[kind] as readonly unknown[]) = parts[kind].filter(fits);
  return picked;
}
export const joined = (a: DeviceParts, b: DeviceParts): DeviceParts => ({
  nics: [...a.nics, ...b.nics],
  mounts: [...a.mounts, ...b.mounts],
  nodes: [...a.nodes, ...b.nodes],
  diskRates: [...a.diskRates, ...b.diskRates],
});

export const withoutParts = (parts: DeviceParts, gone: DeviceParts): DeviceParts => ({
  ...parts,
  diskRates: parts.diskRates.filter((one) => !gone.diskRates.includes(one)),
});
