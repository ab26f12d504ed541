// The words that schemas of gantry.yaml and of requests are written with.
import { Type, type TLiteral, type TProperties, type TSchema, type TUnion } from 'typebox';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

/** An object without other members. */
export const object = <P extends TProperties>(properties: P, description?: string) =>
  Type.Object(properties, { additionalProperties: false, ...withoutUndefined({ description }) });

export const optional = <T extends TSchema>(schema: T, description?: string) =>
  Type.Optional(description === undefined ? schema : { ...schema, description });

export const text = (description: string) => Type.String({ minLength: 1, description });

export const texts = (description: string) => Type.Array(Type.String({ minLength: 1 }), { minItems: 1, description });

/** The name of a part of gantry.yaml. */
export const name = (description: string) =>
  Type.String({
    pattern: '^[a-z0-9](?:[-a-z0-9_]{0,38}[a-z0-9])?$',
    description: `${description} (letters, digits, - and _)`,
  });

/** A text such as 1h30m, or seconds. */
export const duration = (description: string) => Type.Union([Type.String(), Type.Number()], { description });

type Literals<Words extends readonly string[]> = Words extends readonly [
  infer Word extends string,
  ...infer Rest extends readonly string[],
]
  ? [TLiteral<Word>, ...Literals<Rest>]
  : [];

export const oneOf = <const Words extends readonly string[]>(words: Words, description?: string) =>
  Type.Union(
    words.map((word) => Type.Literal(word)),
    description === undefined ? {} : { description },
  ) as TUnion<Literals<Words>>;

/** What goes when it is no longer declared. `most`: what the maximum means. */
export const prune = (most: string, description: string) =>
  optional(
    object({
      max: optional(Type.Union([Type.Integer({ minimum: 0 }), Type.String({ pattern: '^[0-9]{1,3}%$' })]), most),
      data: optional(Type.Boolean(), 'Also objects that hold data.'),
    }),
    description,
  );

export const gitHosts = ['github', 'gitlab', 'gitea'] as const;

/** Certificates that a TLS connection accepts in addition to, or instead of, those of Node. */
export const caFile = (more = '') => optional(text(`Certificates of authorities, PEM${more}.`));
