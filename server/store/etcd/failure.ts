// What a failed call to etcd means: whether to ask another member, and which store error the caller gets. Pure.
import { type StoreErrorCode, StoreError } from '../store.ts';

/** gRPC status codes. */
const grpcCodes = {
  cancelled: 1,
  invalidArgument: 3,
  deadlineExceeded: 4,
  notFound: 5,
  permissionDenied: 7,
  resourceExhausted: 8,
  failedPrecondition: 9,
  outOfRange: 11,
  unimplemented: 12,
  dataLoss: 15,
  unauthenticated: 16,
} as const;

/** `unreachable`: this member did not answer, or has no leader; a write may have been applied. `token`: authenticate again, nothing was
 *  applied. `denied`: wrong login, or the user lacks the permission. `compacted`, `future`: about the requested revision. `refused`: any
 *  other member would answer the same. */
export type FailureKind = 'unreachable' | 'token' | 'denied' | 'compacted' | 'future' | 'noLease' | 'refused';

export class EtcdFailure extends Error {
  override readonly name = 'EtcdFailure';
  readonly kind: FailureKind;
  readonly code: StoreErrorCode;
  /** No answer came within the time limit of the attempt. */
  readonly isLate: boolean;
  /** The member works, but its leader changed since the call: the former leader may never have received the request. */
  readonly hasNewLeader: boolean = false;
  constructor(kind: FailureKind, code: StoreErrorCode, message: string, cause?: unknown, isLate = false) {
    super(message, cause === undefined ? undefined : { cause });
    this.kind = kind;
    this.code = code;
    this.isLate = isLate;
  }

  toStoreError(): StoreError {
    return new StoreError(this.code, this.message, { cause: this.cause });
  }
}

export function failureOf(error: unknown, endpoint: string): EtcdFailure {
  if (!isGrpcError(error)) return new EtcdFailure('unreachable', 'Unavailable', `etcd at ${endpoint} failed`, error);
  const { code, details } = error;
  const make = (kind: FailureKind, as: StoreErrorCode, message: string): EtcdFailure =>
    new EtcdFailure(kind, as, message, new Error(details));
  if (/invalid auth token|revision of auth store is old/.test(details))
    return make('token', 'Unavailable', `etcd at ${endpoint} no longer accepts the token`);
  if (/user name is empty/.test(details))
    return make('denied', 'Invalid', `etcd at ${endpoint} demands a user and a password`);
  if (/invalid user ID or password/.test(details))
    return make('denied', 'Invalid', `etcd at ${endpoint} refuses the user or the password`);
  if (/authentication is not enabled/.test(details))
    return make('denied', 'Invalid', `etcd at ${endpoint} has no users: leave out the login`);
  if (/database space exceeded/.test(details)) return make('refused', 'NoSpace', noSpaceText);
  if (/request is too large|message larger than max|too many operations/.test(details))
    return make('refused', 'TooLarge', `etcd at ${endpoint} refuses the size of the request`);
  if (/revision has been compacted/.test(details))
    return make('compacted', 'Compacted', `etcd has removed the history of that revision`);
  if (/is a future revision/.test(details)) return make('future', 'Invalid', 'etcd has not reached that revision');
  if (/lease not found/.test(details)) return make('noLease', 'Invalid', 'there is no such lease');
  return byCode(code, details, endpoint, make);
}

/** The reason for giving up a call before its deadline. */
export const stoppedWorking = (endpoint: string): EtcdFailure =>
  new EtcdFailure('unreachable', 'Unavailable', `etcd at ${endpoint} has stopped answering`, undefined, true);

/** The reason for giving up a call whose request went to the previous leader. */
export class NewLeader extends EtcdFailure {
  override readonly hasNewLeader = true;
  constructor(endpoint: string) {
    super('unreachable', 'Unavailable', `etcd at ${endpoint} has chosen another leader, and did not answer`);
  }
}

export const noSpaceText =
  'etcd has used up its space quota (alarm NOSPACE): delete what is no longer needed. Etcds that members of a cluster run recover by themselves then; another one has to be compacted and defragmented, or given a larger --quota-backend-bytes, before etcdctl alarm disarm';

function byCode(
  code: number,
  details: string,
  endpoint: string,
  make: (kind: FailureKind, as: StoreErrorCode, message: string) => EtcdFailure,
): EtcdFailure {
  switch (code) {
    case grpcCodes.permissionDenied:
      return make('denied', 'Invalid', `etcd at ${endpoint} does not let this user do that`);
    case grpcCodes.unauthenticated:
      return make('token', 'Unavailable', `etcd at ${endpoint} demands a token`);
    case grpcCodes.unimplemented:
      return make('refused', 'Invalid', `${endpoint} is not an etcd that can keep the store`);
    case grpcCodes.dataLoss:
      return make('refused', 'Corrupt', `etcd at ${endpoint} has found its data to be damaged`);
    case grpcCodes.invalidArgument:
    case grpcCodes.notFound:
    case grpcCodes.failedPrecondition:
    case grpcCodes.outOfRange:
      // "no leader" and "not capable" have the code of Unavailable; everything else here is an invalid request.
      return make('refused', 'Invalid', `etcd at ${endpoint} refuses the request`);
    case grpcCodes.deadlineExceeded:
      return new EtcdFailure(
        'unreachable',
        'Unavailable',
        `etcd at ${endpoint} did not answer in time`,
        new Error(details),
        true,
      );
    default:
      return make('unreachable', 'Unavailable', `etcd at ${endpoint} is not available`);
  }
}

export const isCancelled = (error: unknown): boolean => isGrpcError(error) && error.code === grpcCodes.cancelled;

function isGrpcError(error: unknown): error is { readonly code: number; readonly details: string } {
  return (
    typeof error === 'object' &&
    error !== null &&
    'code' in error &&
    typeof error.code === 'number' &&
    'details' in error &&
    typeof error.details === 'string'
  );
}
