// Helpers that read requests and write answers: types of schemas, values as bytes, problems as diagnostics.
import { objectType, type Attributes } from '../framework/attribute.ts';
import { DiagnosticError, failure, type Diagnostic } from '../framework/diagnostic.ts';
import type { PrivateData } from '../framework/object-type.ts';
import type { Identity } from '../framework/results.ts';
import type { ProviderServer } from '../framework/server.ts';
import type { Type } from '../framework/type.ts';
import { isMap, type Value, type ValueMap } from '../framework/value.ts';
import type { Unary } from './grpc.ts';
import type * as wire from './messages.ts';
import { wireDiagnostics } from './schema.ts';
import type { Fields, Init, Message, MessageOf } from '../../server/lib/shared/protobuf.ts';
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

type Problems = { readonly diagnostics: ReturnType<typeof wireDiagnostics> };

/** An answer with only problems. */
export const problems = (found: readonly Diagnostic[]): Problems => ({ diagnostics: wireDiagnostics(found) });

/** A call whose errors with messages for users are an answer with problems, not failures of the call. */
export const answering = <Q extends Fields, A extends Fields>(
  request: Message<Q>,
  reply: Message<A>,
  work: (asked: MessageOf<Message<Q>>) => Promise<Init<A>> | Init<A>,
): Unary => answeringWith(request, reply, () => ({}), work);

/** `kept`: what an answer with problems returns of the request. */
export const answeringWith =
  <Q extends Fields, A extends Fields>(
    request: Message<Q>,
    reply: Message<A>,
    kept: (asked: MessageOf<Message<Q>>) => Init<A>,
    work: (asked: MessageOf<Message<Q>>) => Promise<Init<A>> | Init<A>,
  ): Unary =>
  async (bytes) => {
    const asked = request.decode(bytes);
    try {
      return reply.encode(await work(asked));
    } catch (error) {
      return reply.encode({ ...kept(asked), ...problems(asDiagnostics(error)) });
    }
  };

export const jsonOf = (raw: { readonly json: Uint8Array } | undefined): string =>
  Buffer.from(raw?.json ?? empty).toString('utf8');

export function asDiagnostics(error: unknown): readonly Diagnostic[] {
  if (error instanceof DiagnosticError) return error.diagnostics;
  if (!(error instanceof ValueError)) throw error;
  const detail = 'The state or configuration does not match the schema of this version of the provider.';
  return [failure(`A value cannot be read: ${error.message}`, detail)];
}
