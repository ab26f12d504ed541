// Config keys whose values must not appear in any state or plan: the container lists their names in a separate key. Pure.
import type { TextMap } from './ask.ts';

/** The config key. It concerns one container on one server: documents cannot declare it, and gantryd's copies and exports omit it. */
export const writeOnlyKey = 'user.gantry.terraform.write_only';

export function writeOnlyNames(config: TextMap): readonly string[] {
  try {
    const names: unknown = JSON.parse(config[writeOnlyKey] ?? '[]');
    return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
  } catch {
    return [];
  }
}

/** `names`: those in the container's own `config`; the map may include its profiles. */
export const withoutWriteOnly = (map: TextMap, names: readonly string[]): TextMap =>
  names.length === 0 ? map : Object.fromEntries(Object.entries(map).filter(([key]) => !names.includes(key)));
