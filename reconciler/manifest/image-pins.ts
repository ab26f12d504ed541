// Reads and writes the text of gantry.lock: the fingerprints to which image aliases are pinned.
import { parse, stringify } from 'yaml';
import { reasonOf } from '../../server/lib/shared/reason.ts';

export type Pins = ReadonlyMap<string, string>;

/** Throws an Error that names the file and the problem. */
export function parsePins(path: string, text: string): Pins {
  let value: unknown;
  try {
    // Fingerprints that look like numbers stay strings.
    value = parse(text, { schema: 'failsafe' });
  } catch (error) {
    throw new Error(`${path} is not YAML: ${reasonOf(error)}`, { cause: error });
  }
  const { version, images } = (value ?? {}) as { readonly version?: unknown; readonly images?: unknown };
  if (version !== '1') throw new Error(`${path} has version ${String(version)}; this gantry reads version 1`);
  const pins = new Map<string, string>();
  for (const [alias, fingerprint] of Object.entries((images ?? {}) as Record<string, unknown>)) {
    if (typeof fingerprint !== 'string' || !/^[0-9a-f]{64}$/.test(fingerprint))
      throw new Error(`${path}: images.${alias} must be a fingerprint of 64 hexadecimal digits`);
    pins.set(alias, fingerprint);
  }
  return pins;
}

const head =
  '# Images that containers with manage.image are made from. Written by gantry update; keep it in version control.\n';

export function pinsText(pins: Pins): string {
  const images = Object.fromEntries([...pins].sort(([a], [b]) => (a < b ? -1 : 1)));
  return `${head}${stringify({ version: 1, images })}`;
}
