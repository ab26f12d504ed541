// Config of a container that no state may hold: a config key on the container lists the names, so that state and plans leave them out. Pure.
import type { TextMap } from '../../framework/attribute.ts';
import { isMap, type Value } from '../../framework/value.ts';

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

/** The config with exactly these names in the key; without the key when there are none. */
export function withWriteOnly(config: TextMap, names: readonly string[]): Record<string, string> {
  const { [writeOnlyKey]: _before, ...others } = config;
  return names.length === 0 ? others : { ...others, [writeOnlyKey]: JSON.stringify(names.toSorted()) };
}

/** `names`: those in `config` of the container, which may be a map that its profiles are merged into. */
export const withoutWriteOnly = (map: TextMap, names: readonly string[]): TextMap =>
  names.length === 0 ? map : Object.fromEntries(Object.entries(map).filter(([key]) => !names.includes(key)));

interface Versioned {
  readonly config_wo_version: number | null;
}

/** The values to write; undefined: those on the server stay, as neither the version changed nor the argument went away. */
export function secretToWrite(given: Value, planned: Versioned, prior: Versioned | null): TextMap | undefined {
  if (!isMap(given)) return {};
  if (prior !== null && planned.config_wo_version === prior.config_wo_version) return undefined;
  return Object.fromEntries(
    Object.entries(given).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}
