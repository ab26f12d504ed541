// Reads request bodies: limited, parsed as JSON whatever the content type, checked against the endpoint's schema.
import type { IncomingMessage } from 'node:http';
import type { Static, TSchema } from 'typebox';
import { errors } from '../api/errors.ts';
import { withEmptyTexts } from '../api/schema/null-texts.ts';
import { validateBody, withoutNulls } from '../api/schema/validate-json.ts';
import { hasProto, shapeProblem, type JsonShape } from '../lib/json-shape.ts';
import { readWhole } from '../lib/shared/read-whole.ts';
import { reasonOf } from '../lib/shared/reason.ts';

/** Far larger than any object of the contract. */
export const maxJsonBytes = 1024 * 1024;
/** A caller without trust may send more than a certificate has. All may do so at once, before a password or token is checked. */
export const maxStrangerBytes = 64 * 1024;
/** Parsing and checking more would block the event loop. */
const shape: JsonShape = { maxDepth: 32, maxValues: 5_000 };

/** A body of this type is a file, a backup (real system section 11). */
export const isOctets = ({ headers }: Pick<IncomingMessage, 'headers'>): boolean =>
  (headers['content-type'] ?? '').toLowerCase().startsWith('application/octet-stream');

/** Everything else may be an upload of an image: clients such as curl name no type, or a wrong one. */
export const isJson = ({ headers }: Pick<IncomingMessage, 'headers'>): boolean =>
  (headers['content-type'] ?? '').toLowerCase().startsWith('application/json');

export async function readBytes(request: IncomingMessage, limit: number): Promise<Buffer> {
  const announced = Number(request.headers['content-length'] ?? '0');
  if (announced > limit) throw errors.tooLarge(limit);
  // A refusal must not cut the connection, on which it is still sent.
  const chunks = request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>;
  return readWhole(chunks, limit, () => errors.tooLarge(limit));
}

export function parseJson(bytes: Buffer): unknown {
  const broken = shapeProblem(bytes, shape);
  if (broken !== undefined) throw errors.badRequest(`The request body ${broken}`, [{ path: '', message: broken }]);
  const text = bytes.toString('utf8');
  if (text.trim() === '') throw errors.badRequest('The request needs a JSON body, but it is empty');
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (cause) {
    const why = reasonOf(cause);
    throw errors.badRequest(`The request body is not JSON: ${why}`, [{ path: '', message: why }]);
  }
  // Such a key could change an object's prototype when maps are merged; it may be written with an escape.
  const isPossible = text.includes('__proto__') || text.includes('\\u');
  if (isPossible && hasProto(value)) throw errors.badRequest('The request body has a member named __proto__');
  return value;
}

export function checkBody<S extends TSchema>(schema: S, sent: unknown): Static<S> {
  const value = withoutNulls(schema, sent);
  const problems = validateBody(schema, value);
  if (problems.length > 0) throw errors.invalid('request body', problems);
  return value as Static<S>;
}

/** `takesNullTexts`: of the dialect. */
export async function readBody<S extends TSchema>(
  request: IncomingMessage,
  schema: S,
  { takesNullTexts = false }: { readonly takesNullTexts?: boolean } = {},
  limit = maxJsonBytes,
): Promise<Static<S>> {
  const sent = parseJson(await readBytes(request, limit));
  return checkBody(schema, takesNullTexts ? withEmptyTexts(schema, sent) : sent);
}
