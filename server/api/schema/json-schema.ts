// The parts of JSON Schema that manifest schemas share.
import { durationPattern } from '../text/durations.ts';

export type JsonSchema = { readonly [key: string]: unknown };

export const text = { type: 'string' };
/** Texts may be written as YAML numbers and booleans. */
export const scalar = { anyOf: [{ type: 'string' }, { type: 'number' }, { type: 'boolean' }] };
/** In a map null means that the key must be absent. */
export const mapScalar = { anyOf: [...scalar.anyOf, { type: 'null' }] };
export const duration = { anyOf: [{ type: 'string', pattern: durationPattern }, { type: 'number' }] };

export const closed = (properties: Readonly<Record<string, JsonSchema>>, required?: readonly string[]): JsonSchema => ({
  type: 'object',
  ...(required === undefined ? {} : { required }),
  additionalProperties: false,
  properties,
});
