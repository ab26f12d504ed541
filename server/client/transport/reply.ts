// Parses an HTTP answer of either dialect (the spec's or LXD's) into a Reply or a ClientError; decides nothing else.
import type { Readable } from 'node:stream';
import type { Operation } from '../../api/operation.ts';
import type { Problem } from '../../api/problem.ts';
import { readWhole } from '../../lib/shared/read-whole.ts';
import { ClientError, codeForStatus } from '../client-error.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

export interface Reply<T> {
  readonly status: number;
  /** The object of a sync answer; null or {} if the API returns none. */
  readonly metadata: T;
  /** Unchanged, to be sent back as If-Match. */
  readonly etag?: string;
  readonly location?: string;
  /** Present if the server continues in the background. */
  readonly operation?: Operation;
}

export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

/** Length of an answer that is read whole. */
export const maxJsonBytes = 256 * 1024 * 1024;

export function header(headers: Headers, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : value?.[0];
}

/** X-SVC-<name> of the spec or X-LXD-<name> of LXD. */
export const prefixedHeader = (headers: Headers, name: string): string | undefined =>
  header(headers, `x-svc-${name}`) ?? header(headers, `x-lxd-${name}`);

/** Under both prefixes: each server reads its own and ignores the other. */
export const prefixedHeaders = (values: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(values).flatMap(([key, value]) => [
      [`X-SVC-${key}`, value],
      [`X-LXD-${key}`, value],
    ]),
  );

/** Reads the body to its end. Throws ClientError for an error answer, and `badReply` for anything that is not an envelope. */
export async function readReply<T>(status: number, headers: Headers, body: Readable, what: string): Promise<Reply<T>> {
  const tooLong = (): ClientError =>
    new ClientError('badReply', `${what}: the answer is larger than ${maxJsonBytes} bytes`);
  const bytes = await readWhole(body as AsyncIterable<Buffer>, maxJsonBytes, tooLong);
  return parseReply<T>(status, headers, bytes.toString('utf8'), what);
}

export function parseReply<T>(status: number, headers: Headers, text: string, what: string): Reply<T> {
  const etag = header(headers, 'etag');
  const location = header(headers, 'location');
  const base = { status, ...withoutUndefined({ etag, location }) };
  if (text === '' && status >= 200 && status < 300) return { ...base, metadata: null as T };
  const envelope = parseObject(text);
  switch (envelope?.['type']) {
    case 'sync':
      if (status >= 400) break;
      return { ...base, metadata: envelope['metadata'] as T };
    case 'async': {
      const operation = readOperation(envelope['metadata']);
      if (operation === undefined) break;
      return { ...base, metadata: operation as T, operation };
    }
    case 'error':
      throw errorOf(status, envelope, what);
    default:
  }
  if (status >= 300 && status < 400 && location !== undefined) {
    const advice = 'redirects are not followed; name the address of the daemon itself';
    throw new ClientError('badReply', `${what}: the server redirects to ${location}: ${advice}`, { status });
  }
  const excerpt = text.slice(0, 120).replaceAll(/\s+/g, ' ');
  throw new ClientError('badReply', `${what}: the answer (HTTP ${status}) is not one of this API: ${excerpt}`, {
    status,
  });
}

/** Spec: error = Failure and the message in metadata. LXD: the message in error, no code. */
function errorOf(status: number, envelope: Readonly<Record<string, unknown>>, what: string): ClientError {
  const errorCode = envelope['error_code'];
  const realStatus = typeof errorCode === 'number' && errorCode !== 0 ? errorCode : status;
  const metadata = isObject(envelope['metadata']) ? envelope['metadata'] : {};
  const message = typeof metadata['message'] === 'string' ? metadata['message'] : envelope['error'];
  const code = typeof metadata['code'] === 'string' ? metadata['code'] : codeForStatus(realStatus);
  const details = Array.isArray(metadata['details']) ? metadata['details'].filter(isProblem) : [];
  const text = typeof message === 'string' ? message : 'failed without a message';
  return new ClientError(code, `${what}: ${text}`, { status: realStatus, details, text });
}

/** An operation object, or undefined if it lacks a member that waiting needs. Fills in missing members of old servers. */
export function readOperation(value: unknown): Operation | undefined {
  if (!isObject(value) || typeof value['id'] !== 'string' || typeof value['status_code'] !== 'number') return undefined;
  return {
    class: 'task',
    description: '',
    created_at: '',
    updated_at: '',
    status: '',
    resources: null,
    metadata: null,
    may_cancel: false,
    err: '',
    ...value,
  } as unknown as Operation;
}

/** The spec lists URLs; LXD groups them by status. */
export function operationUrls(metadata: unknown): readonly string[] {
  const groups = Array.isArray(metadata) ? [metadata] : isObject(metadata) ? Object.values(metadata) : [];
  return groups.flat().filter((url): url is string => typeof url === 'string');
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

export const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const isProblem = (value: unknown): value is Problem =>
  isObject(value) && typeof value['path'] === 'string' && typeof value['message'] === 'string';
