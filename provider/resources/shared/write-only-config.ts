// Write-only config of a container: a config key on the container lists the names, so that state and plans omit their values. Pure.
import { writeOnlyKey } from '../../../server/client/facts/write-only-names.ts';
import type { TextMap } from '../../framework/attribute.ts';
import { isMap, type Value } from '../../framework/value.ts';

/** The config with exactly these names in the key; without the key when there are none. */
export function withWriteOnly(config: TextMap, names: readonly string[]): Record<string, string> {
  const { [writeOnlyKey]: _before, ...others } = config;
  return names.length === 0 ? others : { ...others, [writeOnlyKey]: JSON.stringify(names.toSorted()) };
}

interface Versioned {
  readonly config_wo_version: number | null;
}

/** The values to write; undefined: keeps those on the server, since the version and the presence of the argument are unchanged. */
export function secretToWrite(given: Value, planned: Versioned, prior: Versioned | null): TextMap | undefined {
  if (!isMap(given)) return {};
  if (prior !== null && planned.config_wo_version === prior.config_wo_version) return undefined;
  return Object.fromEntries(
    Object.entries(given).filter((entry): entry is [string, string] => typeof entry[1] === 'string'),
  );
}
