// A refused request: status, code on the wire, message.
import type { Problem } from '../../../server/api/problem.ts';
import { ControllerError } from '../controller.ts';
import type { Failure } from '../contract/index.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export const refusalStatus = {
  'bad-request': 400,
  unauthorized: 401,
  forbidden: 403,
  'not-found': 404,
  conflict: 409,
  'too-large': 413,
  'wrong-type': 415,
  'too-many-requests': 429,
  internal: 500,
  unavailable: 503,
} as const;
export type RefusalCode = keyof typeof refusalStatus;

export interface RefusalDetails {
  readonly problems?: readonly Problem[];
  readonly headers?: Readonly<Record<string, string>>;
}

export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly code: RefusalCode;
  readonly details: RefusalDetails;

  constructor(code: RefusalCode, message: string, details: RefusalDetails = {}) {
    super(message);
    this.code = code;
    this.details = details;
  }

  get status(): number {
    return refusalStatus[this.code];
  }

  get body(): Failure {
    const problems = this.details.problems?.map(({ path, message }) => ({ path, message }));
    return { error: { code: this.code, message: this.message, ...withoutUndefined({ problems }) } };
  }
}

/** Hides the message of unexpected errors, which may hold paths and addresses. */
export function toRefusal(error: unknown): Refusal {
  if (error instanceof Refusal) return error;
  if (error instanceof ControllerError) return new Refusal(error.problem, error.message);
  const { statusCode, code } = error as { readonly statusCode?: unknown; readonly code?: unknown };
  if (code === 'FST_ERR_CTP_BODY_TOO_LARGE') return new Refusal('too-large', 'The body of the request is too large');
  if (statusCode === 400 && error instanceof Error) return new Refusal('bad-request', error.message);
  return new Refusal('internal', 'The controller failed to answer; its log says why');
}
