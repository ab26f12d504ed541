// What a container gets from its profiles and its own settings together, and what a change of that costs it.
import type { Effect } from '../../server/api/field.ts';
import type { Json, JsonObject } from './document.ts';
import { configEffect, deviceEffect, worseEffect } from './effects.ts';
import { sameText } from './equal.ts';
import { isMap, mapOf, textsOf } from './kinds/values.ts';

export interface Expanded {
  readonly config: Readonly<Record<string, Json>>;
  readonly devices: Readonly<Record<string, Json>>;
}

/** Later profiles win key by key and device by device; the local part comes last. */
export function expandContainer(
  local: JsonObject,
  profileOf: (name: string) => JsonObject | undefined,
  profiles: readonly string[] = textsOf(local['profiles']),
): Expanded {
  const config: Record<string, Json> = {};
  const devices: Record<string, Json> = {};
  for (const layer of [...profiles.map(profileOf), local]) {
    Object.assign(config, mapOf(layer?.['config']));
    Object.assign(devices, mapOf(layer?.['devices']));
  }
  return { config, devices };
}

export function effectBetween(before: Expanded, after: Expanded): Effect {
  let worst: Effect = 'live';
  for (const key of new Set([...Object.keys(before.config), ...Object.keys(after.config)])) {
    const [a, b] = [String(before.config[key] ?? ''), String(after.config[key] ?? '')];
    if (!sameText(key, a, b)) worst = worseEffect(worst, configEffect(key));
  }
  for (const name of new Set([...Object.keys(before.devices), ...Object.keys(after.devices)])) {
    worst = worseEffect(worst, deviceChangeEffect(mapOf(before.devices[name]), after.devices[name]));
  }
  return worst;
}

function deviceChangeEffect(before: JsonObject, device: Json | undefined): Effect {
  if (!isMap(device)) return 'live';
  let worst: Effect = 'live';
  for (const key of new Set([...Object.keys(before), ...Object.keys(device)])) {
    const [a, b] = [String(before[key] ?? ''), String(device[key] ?? '')];
    // A device that appears is plugged in; only an existing one can be changed in a costly way.
    if (before['type'] !== undefined && !sameText(key, a, b)) worst = worseEffect(worst, deviceEffect(before, key));
  }
  return worst;
}
