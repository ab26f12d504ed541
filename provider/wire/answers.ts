// Helpers that read requests and write answers: types of schemas, values as bytes, problems as diagnostics.
import { objectType, type Attributes } from '../framework/attribute.ts';
import { DiagnosticError, failure, type Diagnostic } from '../framework/diagnostic.ts';
import type { PrivateData } from '../framework/object-type.ts';
import type { Identity } from '../framework/results.ts';
import type { ProviderServer } from '../framework/server.ts';
import type { Type } from '../framework/type.ts';
import { isMap, type Value, type ValueMap } from '../framework/value.ts';
import type * as wire from './messages.ts';
import { wireDiagnostics } from './schema.ts';
import type { MessageOf } from '../../server/lib/shared/protobuf.ts';
import { encodeValue, ValueError } from './values.ts';

type Dynamic = MessageOf<typeof wire.DynamicValue>;
export const empty = new Uint8Array();

/** Object types of schemas, cached. */
export class TypeTable<C> {
  readonly #types = new Map<Attributes, Type>();
  readonly #server: ProviderServer<C>;
  constructor(server: ProviderServer<C>) {
    this.#server = server;
  }
  of(attributes: Attributes): Type {
    let type = this.#types.get(attributes);
    if (type === undefined) this.#types.set(attributes, (type = objectType(attributes)));
    return type;
  }
  resource(typeName: string): Type {
    return this.of(this.#server.resource(typeName).attributes);
  }
  dataSource(typeName: string): Type {
    return this.of(this.#server.dataSource(typeName).attributes);
  }
  ephemeral(typeName: string): Type {
    return this.of(this.#server.ephemeral(typeName).resource.attributes);
  }
}

export const objectOf = (value: Value): ValueMap | null => (isMap(value) ? value : null);
export const asDynamic = (type: Type, value: Value): Dynamic => ({ msgpack: encodeValue(type, value), json: empty });

export const identityType = (names: readonly string[]): Type => ({
  kind: 'object',
  members: Object.fromEntries(names.map((name) => [name, 'string'] as const)),
});
export const asIdentity = (identity: Identity | undefined) =>
  identity === undefined ? undefined : { data: asDynamic(identityType(Object.keys(identity)), identity) };

export const readPrivate = (bytes: Uint8Array): PrivateData =>
  bytes.length === 0 ? {} : (JSON.parse(Buffer.from(bytes).toString('utf8')) as PrivateData);
export const writePrivate = (data: PrivateData): Uint8Array =>
  Object.keys(data).length === 0 ? empty : Buffer.from(JSON.stringify(data));

type Answer = (diagnostics: readonly Diagnostic[]) => Uint8Array;

/** An answer with only problems, plus members of the request that are returned unchanged. */
export const problemsAs =
  <T extends object>(
    reply: { encode(answer: T & { readonly diagnostics: ReturnType<typeof wireDiagnostics> }): Uint8Array },
    kept = {} as T,
  ): Answer =>
  (found) =>
    reply.encode({ ...kept, diagnostics: wireDiagnostics(found) });

/** Errors with messages for users become diagnostics, not failures of the call. */
export function caught(work: () => Uint8Array, answer: Answer): Uint8Array {
  try {
    return work();
  } catch (error) {
    return answer(asDiagnostics(error));
  }
}

export async function caughtLater(work: () => Promise<Uint8Array>, answer: Answer): Promise<Uint8Array> {
  try {
    return await work();
  } catch (error) {
    return answer(asDiagnostics(error));
  }
}

export function asDiagnostics(error: unknown): readonly Diagnostic[] {
  if (error instanceof DiagnosticError) return error.diagnostics;
  if (!(error instanceof ValueError)) throw error;
  const detail = 'The state or configuration does not match the schema of this version of the provider.';
  return [failure(`A value cannot be read: ${error.message}`, detail)];
}
