// The types of handlers, derived from the endpoint table, and the parsing of requests for them.
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { Type, type Static, type TSchema } from 'typebox';
import { validateBody } from '../../../server/api/schema/validate-json.ts';
import type { ApiCaller } from './access/authenticator.ts';
import type { Shape } from '../contract/shape.ts';
import type { endpoints, Endpoint, EndpointId } from './endpoints.ts';
import { Refusal } from './refusal.ts';

type Row<Id extends EndpointId> = Extract<(typeof endpoints)[number], { readonly id: Id }>;
type BodyOf<Id extends EndpointId> =
  Row<Id> extends { readonly body: infer Body extends TSchema } ? Shape<Body> : undefined;
type QueryOf<Id extends EndpointId> =
  Row<Id> extends { readonly query: infer Query extends Readonly<Record<string, TSchema>> }
    ? { readonly [Name in keyof Query]?: Static<Query[Name]> }
    : undefined;
type ParamsOf<Path> = Path extends `${infer Head}/${infer Tail}`
  ? ParamsOf<Head> | ParamsOf<Tail>
  : Path extends `:${infer Name}`
    ? Name
    : never;
type ResultOf<Id extends EndpointId> =
  Row<Id> extends { readonly result: infer Result extends TSchema } ? Shape<Result> : Answer | undefined;

/** An answer that is not JSON of the contract. */
export interface Answer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly text: string;
  /** Sent instead of the text. */
  readonly stream?: Readable;
}

export interface Call<Id extends EndpointId> {
  readonly params: Readonly<Record<ParamsOf<Row<Id>['path']>, string>>;
  readonly query: QueryOf<Id>;
  readonly body: BodyOf<Id>;
  readonly caller: ApiCaller;
  readonly request: IncomingMessage;
  /** The body as it came. */
  readonly bytes: Buffer;
  /** Aborts when the client goes away. */
  readonly signal: AbortSignal;
  /** Adds a header to the answer. */
  readonly addHeader: (name: string, value: string) => void;
}

/** Streams have other handlers. */
export type HandledId = Exclude<EndpointId, 'events' | 'console'>;
export type Handlers = {
  readonly [Id in HandledId]: (call: Call<Id>) => ResultOf<Id> | Promise<ResultOf<Id>>;
};

/** Throws Refusal with every problem. Numbers arrive as text. */
export function readQuery(
  endpoint: Endpoint,
  given: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const known = endpoint.query ?? {};
  const values = Object.fromEntries(
    Object.entries(given)
      .filter(([, value]) => value !== '')
      .map(([name, value]) => [
        name,
        isNumber(known[name]) && /^-?\d{1,9}$/.test(String(value)) ? Number(value) : value,
      ]),
  );
  const schema = Type.Object(
    Object.fromEntries(Object.entries(known).map(([name, one]) => [name, Type.Optional(one)])),
    { additionalProperties: false },
  );
  const problems = validateBody(schema, values);
  if (problems.length > 0) throw refused('The query', problems);
  const defaults = Object.entries(known).flatMap(([name, one]) => {
    const { default: standard } = one as { readonly default?: unknown };
    return standard === undefined ? [] : [[name, standard] as const];
  });
  return { ...Object.fromEntries(defaults), ...values };
}

const isNumber = (schema: TSchema | undefined): boolean =>
  schema !== undefined && 'type' in schema && schema.type === 'integer';

/** Throws Refusal with every problem. */
export function readBody(endpoint: Endpoint, bytes: Buffer, contentType: string | undefined): unknown {
  if (endpoint.body === undefined) return undefined;
  // Forms of other sites cannot send this type without a CORS preflight.
  if (!/^application\/json\s*(;|$)/i.test(contentType ?? ''))
    throw new Refusal('wrong-type', 'The body must be JSON, with Content-Type: application/json');
  const value = parsed(bytes);
  const problems = validateBody(endpoint.body, value);
  if (problems.length > 0) throw refused('The body', problems);
  return value;
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new Refusal('bad-request', 'The body is not valid JSON in UTF-8');
  }
}

const refused = (what: string, problems: ReturnType<typeof validateBody>): Refusal =>
  new Refusal(
    'bad-request',
    `${what} is not valid: ${problems.map(({ path, message }) => `${path} ${message}`.trim()).join('; ')}`,
    { problems },
  );
