// The life of one background operation as a pure transition table, and its rendering for clients.
import type { Operation, OperationClass } from '../api/operation.ts';
import { statusCodes, statusTexts, type StatusCode } from '../api/status.ts';

export interface OperationState {
  readonly id: string;
  readonly class: OperationClass;
  readonly description: string;
  readonly createdAt: string;
  readonly updatedAt: string;
  readonly statusCode: StatusCode;
  readonly resources: Readonly<Record<string, readonly string[]>>;
  /** Undefined: none, as for operations on networks and pools. */
  readonly project: string | undefined;
  /** The member of the cluster that runs it; `none` without a cluster. */
  readonly location: string;
  readonly metadata: Readonly<Record<string, unknown>> | null;
  readonly mayCancel: boolean;
  readonly err: string;
}

export type Transition = 'start' | 'cancel' | 'succeed' | 'fail' | 'cancelled';

const { pending, running, cancelling, success, failure, cancelled } = statusCodes;

const transitions: Readonly<Partial<Record<StatusCode, Readonly<Partial<Record<Transition, StatusCode>>>>>> = {
  [pending]: { start: running, fail: failure, cancel: cancelling },
  [running]: { succeed: success, fail: failure, cancel: cancelling, cancelled },
  [cancelling]: { cancelled, succeed: success, fail: failure },
};

/** Undefined: the transition is not allowed (the operation has ended, or never started). */
export function nextStatus(from: StatusCode, transition: Transition): StatusCode | undefined {
  return transitions[from]?.[transition];
}

export function renderOperation(state: OperationState): Operation {
  const keys = Object.keys(state.resources);
  return {
    id: state.id,
    class: state.class,
    description: state.description,
    created_at: state.createdAt,
    updated_at: state.updatedAt,
    status: statusTexts[state.statusCode],
    status_code: state.statusCode,
    resources:
      keys.length === 0 ? null : Object.fromEntries(keys.map((key) => [key, [...(state.resources[key] ?? [])]])),
    metadata: state.metadata === null ? null : { ...state.metadata },
    may_cancel: state.mayCancel,
    err: state.err,
    location: state.location,
  };
}
