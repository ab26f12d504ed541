// Fits an object to the server that it moves to: removes what that server does not support, and lists each removed part. Pure.
import { lackOfExtension } from '../../../../server/api/server/capability.ts';
import type { KindName } from '../../../../server/api/kinds.ts';
import { bareDocument } from '../../../core/documents/bare-document.ts';
import type { JsonObject } from '../../../core/documents/document.ts';
import { asText, mapOf, presentTexts } from '../../../core/documents/json-values.ts';
import type { Observed } from '../../../core/documents/observed.ts';
import { foreignParts } from '../../../core/settings/lxd-settings.ts';
import { soundOf } from '../../../manifest/write-export.ts';
import type { Difference } from './moves.ts';

export interface Fitted {
  /** Undefined: the target cannot have the object at all. */
  readonly values?: JsonObject;
  readonly differences: readonly Difference[];
}

/** `values`: the members of a creation. */
export function fit(kind: KindName, id: string, name: string, values: JsonObject, target: Observed): Fitted {
  const document = { ...bareDocument(kind, name), values };
  const differences: Difference[] = [];
  let fitted = values;
  for (const { path, since, isNamed } of foreignParts(document)) {
    // Gantryd refuses keys that no schema names; other servers may accept them.
    const lack = isNamed
      ? lackOfExtension(target.server.extensions, since)
      : target.server.isGantry === true
        ? 'it does not know the key'
        : undefined;
    if (lack === undefined) continue;
    const whole = !path.startsWith('config.') && !path.startsWith('devices.');
    if (whole)
      return {
        differences: [
          { id, effect: 'left', text: `${path} ${asText(values[path])}: the target cannot have it, ${lack}` },
        ],
      };
    fitted = withoutPath(fitted, path);
    differences.push({ id, effect: 'changed', text: `${path} is left out: the target cannot have it, ${lack}` });
  }
  if (target.server.isGantry !== true) return { values: fitted, differences };
  const flat = { kind, name, ...fitted };
  const { object, refused } = soundOf(
    { address: `${kind}/${name}`, kind, name, values: flat, comments: [], remarks: [] },
    new Set(),
  );
  const texts = refused.map((why) => why.replace(`${kind}/${name}: `, ''));
  if (object.values === undefined)
    return { differences: [...differences, ...texts.map((text): Difference => ({ id, effect: 'left', text }))] };
  const { kind: _kind, name: _name, ...rest } = object.values;
  return {
    values: rest,
    differences: [
      ...differences,
      ...texts.map((text): Difference => ({ id, effect: 'changed', text: `left out: ${text}` })),
    ],
  };
}

/** Removes `config.KEY` or `devices.NAME.KEY`; without its type, the whole device goes. */
function withoutPath(values: JsonObject, path: string): JsonObject {
  if (path.startsWith('config.')) {
    const { [path.slice('config.'.length)]: _key, ...config } = presentTexts(values['config']);
    return { ...values, config };
  }
  const devices = mapOf(values['devices']);
  const name = Object.keys(devices).find((one) => path.startsWith(`devices.${one}.`)) ?? '';
  const { [name]: device, ...others } = devices;
  const key = path.slice(`devices.${name}.`.length);
  if (key === 'type' || key === 'nictype') return { ...values, devices: others };
  const { [key]: _property, ...rest } = mapOf(device);
  return { ...values, devices: { ...others, [name]: rest } };
}
