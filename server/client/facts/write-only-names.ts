// Config keys whose values no state and no plan may show: the container lists their names in a key of its own. Pure.
import type { TextMap } from './ask.ts';

/** The config key. It concerns one container on one server: documents cannot declare it, copies and exports by gantryd leave it out. */
export const writeOnlyKey = 'user.gantry.terraform.write_only';

export function writeOnlyNames(config: TextMap): readonly string[] {
  try {
    const names: unknown = JSON.parse(config[writeOnlyKey] ?? '[]');
    return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
  } catch {
    return [];
  }
}

/** `names`: those in `config` of the container, which may be a map that its profiles are merged into. */
export const withoutWriteOnly = (map: TextMap, names: readonly string[]): TextMap =>
  names.length === 0 ? map : Object.fromEntries(Object.entries(map).filter(([key]) => !names.includes(key)));
