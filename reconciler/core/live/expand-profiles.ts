// Merges the profiles of a container with its own settings, and finds the effect of a change of the result.
import type { Effect } from '../../../server/api/schema/field.ts';
import type { JsonObject } from '../documents/document.ts';
import { configEffect, deviceEffect, isRootDisk, worseEffect } from '../settings/setting-effects.ts';
import { sameText } from '../../../server/api/text/equality.ts';
import { isNote } from '../ownership/owner-records.ts';
import { presentDevices, presentTexts, textOf, textsOf, valueOf } from '../documents/json-values.ts';

export interface ExpandedConfig {
  readonly config: Readonly<Record<string, string>>;
  readonly devices: Readonly<Record<string, Readonly<Record<string, string>>>>;
}

/** Later profiles win key by key and device by device; the local part comes last. */
export function expandContainer(
  local: JsonObject,
  profileOf: (name: string, project: string | undefined) => JsonObject | undefined,
): ExpandedConfig {
  const project = textOf(local['project']);
  const config: Record<string, string> = {};
  const devices: Record<string, Record<string, string>> = {};
  for (const layer of [...textsOf(local['profiles']).map((name) => profileOf(name, project)), local]) {
    for (const [key, value] of Object.entries(presentTexts(layer?.['config']))) if (!isNote(key)) config[key] = value;
    Object.assign(devices, presentDevices(layer?.['devices']));
  }
  return { config, devices };
}

export function effectBetween(before: ExpandedConfig, after: ExpandedConfig): Effect {
  let worst = rootEffect(before, after);
  for (const key of namesOf(before.config, after.config)) {
    if (!sameText(key, before.config[key] ?? '', after.config[key] ?? ''))
      worst = worseEffect(worst, configEffect(key));
  }
  for (const name of namesOf(before.devices, after.devices)) {
    const [old, next] = [valueOf(before.devices, name), valueOf(after.devices, name)];
    if (old !== undefined && isRootDisk(old) && next !== undefined && isRootDisk(next)) continue;
    worst = worseEffect(worst, deviceEffect(notRoot(old), notRoot(next)));
  }
  return worst;
}

/** True when a container gets equal settings from both, even if they are spelled differently. */
export function isSameExpansion(a: ExpandedConfig, b: ExpandedConfig): boolean {
  const isSame = (x: Device | undefined, y: Device | undefined): boolean =>
    x !== undefined && y !== undefined && [...namesOf(x, y)].every((key) => sameText(key, x[key] ?? '', y[key] ?? ''));
  return (
    isSame(a.config, b.config) &&
    [...namesOf(a.devices, b.devices)].every((name) => isSame(valueOf(a.devices, name), valueOf(b.devices, name)))
  );
}

const namesOf = (a: object, b: object): ReadonlySet<string> => new Set([...Object.keys(a), ...Object.keys(b)]);

type Device = ExpandedConfig['devices'][string];
const notRoot = (device: Device | undefined): Device | undefined =>
  device === undefined || isRootDisk(device) ? undefined : device;

/** Finds the root disk by its path: its device name may differ between profiles. */
function rootEffect(before: ExpandedConfig, after: ExpandedConfig): Effect {
  const [old, next] = [before, after].map(({ devices }) => Object.values(devices).find(isRootDisk));
  return old === undefined || next === undefined ? 'live' : deviceEffect(old, next);
}
