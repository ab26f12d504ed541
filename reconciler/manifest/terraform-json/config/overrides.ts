// Override files (`override.tf.json`, `*_override.tf.json`): merged over the blocks of the other files argument by argument, as
// Terraform does it, with the same refusals. Pure.
import { basename } from 'node:path';
import type { Json, JsonObject } from '../../../core/documents/document.ts';
import { isMap } from '../../../core/documents/json-values.ts';
import type { ConfigFile } from './blocks.ts';

export const isOverride = ({ file }: Pick<ConfigFile, 'file'>): boolean =>
  /^(?:.*_)?override\.tf\.json$/.test(basename(file));

/** Merges an override into a block. `lifecycle` is merged, other arguments and nested blocks are replaced. */
export function overridden(base: JsonObject, over: JsonObject): JsonObject {
  const lifecycle = { ...first(base['lifecycle']), ...first(over['lifecycle']) };
  return {
    ...base,
    ...Object.fromEntries(Object.entries(over).filter(([key]) => key !== '//')),
    ...(Object.keys(lifecycle).length === 0 ? {} : { lifecycle }),
  };
}

const first = (value: Json | undefined): JsonObject => {
  const [block] = Array.isArray(value) ? (value as readonly Json[]) : [value ?? null];
  return isMap(block ?? undefined) ? (block as JsonObject) : {};
};

/** The reason why an override is not allowed; undefined when it is. */
export function refusedOverride(kind: string, over: JsonObject): string | undefined {
  if (over['depends_on'] !== undefined) return 'depends_on cannot be overridden';
  if (kind === 'variable' && over['validation'] !== undefined) return 'validation cannot be overridden';
  return undefined;
}
