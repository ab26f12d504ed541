// The table of every error the API answers with, and the only place where HTTP statuses are decided (spec part 7).
import type { Problem } from './problem.ts';
import { namesText } from './text/names-text.ts';
import { userText } from './project/user-text.ts';

interface ErrorRow {
  /** Spec part 7 allows no others. */
  readonly status: 400 | 401 | 403 | 404 | 409 | 412 | 500;
  /** LXD's status, in its dialect; default: `status`. */
  readonly lxdStatus?: 501 | 503;
  /** LXD's text, which its clients compare; default: the message. */
  readonly lxdText?: string;
  readonly doc: string;
}

export const errorTable = {
  badRequest: { status: 400, doc: 'The request cannot be understood or breaks a rule; details name each field.' },
  invalidName: { status: 400, doc: 'A name is not allowed for its kind.' },
  inUse: { status: 400, doc: 'The object is used by others, which the message names.' },
  running: { status: 400, doc: 'The container must be stopped for this.' },
  alreadyTrusted: {
    status: 400,
    lxdText: 'Certificate already in trust store',
    doc: 'The certificate is trusted already.',
  },
  notCancellable: { status: 400, doc: 'The operation has ended or cannot be cancelled.' },
  unauthorized: { status: 401, doc: 'The token of the request is not accepted: log in again.' },
  forbidden: { status: 403, doc: 'The caller may not do this.' },
  protectedObject: {
    status: 403,
    doc: 'The default profile and the project default can be neither renamed nor deleted.',
  },
  notFound: { status: 404, doc: 'There is no such object or path.' },
  exists: { status: 409, doc: 'The name is in use.' },
  conflict: { status: 409, doc: 'The object kept changing under the request; try again.' },
  preconditionFailed: { status: 412, doc: 'If-Match does not match: the object changed since it was read.' },
  tooLarge: { status: 400, doc: 'The request body is larger than the endpoint accepts.' },
  diskFull: {
    status: 500,
    doc: 'The disk of the server is full: it is read-only, apart from deletions, until there is free space.',
  },
  internal: { status: 500, doc: 'An internal error, which the caller cannot correct.' },
  notClustered: { status: 400, doc: 'The server is not part of a cluster.' },
  notImplemented: {
    status: 400,
    lxdStatus: 501,
    doc: 'The path is known, but not with this method or not in this release.',
  },
  unavailable: {
    status: 500,
    lxdStatus: 503,
    doc: 'The daemon is starting, stopping, or its store is unavailable: the same request may be sent again.',
  },
  outcomeUnknown: {
    status: 500,
    doc: 'Whether the change was made is not known, since the store or another member did not answer: read the object before sending the request again.',
  },
} as const satisfies Record<string, ErrorRow>;

export type ErrorCode = keyof typeof errorTable;

export function statusIn(dialect: 'svc' | 'lxd', code: ErrorCode): number {
  const row: ErrorRow = errorTable[code];
  return dialect === 'lxd' ? (row.lxdStatus ?? row.status) : row.status;
}

/** The text for LXD clients; undefined: the error's message. */
export function lxdTextOf(code: ErrorCode): string | undefined {
  const row: ErrorRow = errorTable[code];
  return row.lxdText;
}

interface AppErrorOptions {
  readonly details?: readonly Problem[];
  readonly missing?: AppError['missing'];
  readonly cause?: unknown;
}

/** An error meant for the caller. `message` has the failed action and the reason; `details` has one line per field. */
export class AppError extends Error {
  override readonly name = 'AppError';
  readonly code: ErrorCode;
  readonly details: readonly Problem[];
  /** The object that this host lacks; another member of the cluster may have it. */
  readonly missing: { readonly kind: string; readonly name: string } | undefined;
  constructor(code: ErrorCode, message: string, options: AppErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.code = code;
    this.details = options.details ?? [];
    this.missing = options.missing;
  }
}

const problemsText = (problems: readonly Problem[]): string =>
  problems.map((problem) => (problem.path === '' ? problem.message : `${problem.path}: ${problem.message}`)).join('; ');

export const errors = {
  badRequest: (message: string, details: readonly Problem[] = []) => new AppError('badRequest', message, { details }),
  invalid: (what: string, problems: readonly Problem[]) =>
    new AppError('badRequest', `Invalid ${what}: ${problemsText(problems)}`, { details: problems }),
  invalidName: (kind: string, name: string, rule: string) =>
    new AppError('invalidName', `Invalid ${kind} name ${JSON.stringify(name)}: ${rule}`, {
      details: [{ path: 'name', message: rule }],
    }),
  inUse: (kind: string, name: string, users: readonly string[]) =>
    new AppError('inUse', `The ${kind} ${name} is in use by ${namesText(users.map(userText))}`),
  running: (name: string, what: string) =>
    new AppError('running', `The container ${name} is running: stop it before ${what}`),
  alreadyTrusted: (fingerprint: string) =>
    new AppError('alreadyTrusted', `The certificate ${fingerprint.slice(0, 12)} is already trusted`),
  notCancellable: (message: string) => new AppError('notCancellable', message),
  unauthorized: (message: string) => new AppError('unauthorized', message),
  forbidden: (message: string) => new AppError('forbidden', message),
  protectedObject: (message: string) => new AppError('protectedObject', message),
  notFound: (kind: string, name: string) =>
    new AppError('notFound', `The ${kind} ${name} was not found`, { missing: { kind, name } }),
  exists: (kind: string, name: string) =>
    new AppError('exists', `${article(kind)} ${kind} named ${name} already exists`),
  conflict: (kind: string, name: string) =>
    new AppError('conflict', `The ${kind} ${name} was changed by others at the same time; try again`),
  moved: (name: string) =>
    new AppError(
      'conflict',
      `The container ${name} moved to another member of the cluster while the request waited; send it again`,
      { missing: { kind: 'container', name } },
    ),
  preconditionFailed: (kind: string, name: string) =>
    new AppError(
      'preconditionFailed',
      `The ${kind} ${name} changed since it was read: its ETag no longer matches If-Match`,
    ),
  tooLarge: (limitBytes: number) => new AppError('tooLarge', `The request body is larger than ${limitBytes} bytes`),
  diskFull: (reason: string) => new AppError('diskFull', `The request was refused: ${reason}`),
  internal: (message: string, cause?: unknown) => new AppError('internal', message, { cause }),
  notClustered: (message: string) => new AppError('notClustered', message),
  notImplemented: (message: string) => new AppError('notImplemented', message),
  unavailable: (message: string, cause?: unknown) => new AppError('unavailable', message, { cause }),
  outcomeUnknown: (message: string, cause?: unknown) => new AppError('outcomeUnknown', message, { cause }),
};

/** The value. Throws AppError notFound if there is none. */
export function mustFind<T>(value: T | undefined, kind: string, name: string): T {
  if (value === undefined) throw errors.notFound(kind, name);
  return value;
}

/** Throws AppError invalidName. `ruleOf`: the rule that a name breaks. */
export function checkName(kind: string, name: string, ruleOf: (name: string) => string | undefined): void {
  const rule = ruleOf(name);
  if (rule !== undefined) throw errors.invalidName(kind, name, rule);
}

const article = (kind: string): string => (/^[aeiou]/.test(kind) ? 'An' : 'A');
