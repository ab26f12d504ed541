// Pieces that the schemas of the contract share.
import { Type, type Static, type TSchema } from 'typebox';

/** The type of a schema, deeply read-only, since no reader may change an answer. */
type Frozen<T> = T extends readonly (infer Item)[]
  ? readonly Frozen<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: Frozen<T[Key]> }
    : T;
export type Shape<S extends TSchema> = Frozen<Static<S>>;

export const Text = Type.String();
export const Texts = Type.Array(Text);
export const Count = Type.Integer({ minimum: 0 });
export const Time = Type.String({ format: 'date-time' });
export const when = (description: string) => Type.String({ format: 'date-time', description });
export const says = (description: string) => Type.String({ description });
