// Field facts: the properties of a field beyond its type. Declared once on the schema; validation, diff, plans, manifest schema and
// docs read them.
import type { TSchema } from 'typebox';

/** The effect of changing the field on a running container. */
export type Effect = 'live' | 'restart' | 'recreate';

export interface FieldFacts {
  readonly doc?: string;
  /** Set by the server; never sent, never diffed. */
  readonly computed?: boolean;
  /** Only at creation; a change means recreation. */
  readonly immutable?: boolean;
  /** Never printed, logged or planned in clear. */
  readonly secret?: boolean;
  readonly effect?: Effect;
  /** API extension that introduced the field. */
  readonly since?: string;
  /** Accepted by create and never returned. */
  readonly createOnly?: boolean;
}

/** Schema options that carry the facts as `x-*` keywords. */
export function facts(field: FieldFacts): Record<string, unknown> {
  const out: Record<string, unknown> = {};
  if (field.doc !== undefined) out['description'] = field.doc;
  if (field.computed) out['x-computed'] = true;
  if (field.immutable) out['x-immutable'] = true;
  if (field.secret) out['x-secret'] = true;
  if (field.effect !== undefined) out['x-effect'] = field.effect;
  if (field.since !== undefined) out['x-since'] = field.since;
  if (field.createOnly) out['x-create-only'] = true;
  return out;
}

export function factsOf(schema: TSchema): FieldFacts {
  const keywords = schema as unknown as Record<string, unknown>;
  return {
    ...(typeof keywords['description'] === 'string' ? { doc: keywords['description'] } : {}),
    ...(keywords['x-computed'] === true ? { computed: true } : {}),
    ...(keywords['x-immutable'] === true ? { immutable: true } : {}),
    ...(keywords['x-secret'] === true ? { secret: true } : {}),
    ...(typeof keywords['x-effect'] === 'string' ? { effect: keywords['x-effect'] as Effect } : {}),
    ...(typeof keywords['x-since'] === 'string' ? { since: keywords['x-since'] } : {}),
    ...(keywords['x-create-only'] === true ? { createOnly: true } : {}),
  };
}
