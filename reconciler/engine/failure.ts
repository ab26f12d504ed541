// Turns the error of a step into a message for users: what was tried, why it failed, what to do. Pure.
import { ClientError } from '../../server/client/client-error.ts';
import { DeadlineError } from '../../server/lib/shared/deadline.ts';
import { pathText } from '../core/documents/inside.ts';
import type { Step } from '../core/plan/plan.ts';
import type { Failure, FailureCode } from './steps/events.ts';
import { NotReadyError } from '../../server/client/wait/readiness.ts';
import { StaleError } from './steps/context.ts';

export function failureOf(step: Step, error: unknown, isInterrupted: boolean): Failure {
  const code = isInterrupted ? 'interrupted' : codeOf(error);
  return {
    stepId: step.id,
    address: step.address,
    code,
    what: whatOf(step),
    why: isInterrupted ? 'cancelled while it was running' : reasonFor(step, error),
    remedy: remedyOf(step, code, error),
    ...(error instanceof ClientError && error.details.length > 0 ? { details: error.details } : {}),
  };
}

function whatOf(step: Step): string {
  if (step.action === 'exec') return `run ${pathText(['exec', step.exec])} in ${step.address}`;
  if (step.action === 'files') return `write files of ${step.address}`;
  if (step.action === 'snapshot') return `take the snapshot ${step.snapshot} of ${step.address}`;
  return `${step.action === 'wait' ? 'wait for' : step.action} ${step.address}`;
}

function codeOf(error: unknown): FailureCode {
  if (error instanceof StaleError) return 'stale';
  if (error instanceof NotReadyError) return 'not-ready';
  if (error instanceof DeadlineError) return 'timeout';
  if (!(error instanceof ClientError)) return 'failed';
  if (error.code === 'unreachable' || error.code === 'untrusted') return 'unreachable';
  return error.code === 'timeout' ? 'timeout' : 'failed';
}

function reasonFor(step: Step, error: unknown): string {
  // The step took longer than its object allows (`manage.timeout`).
  if (error instanceof DeadlineError) return `it did not end within ${step.timeoutMs / 1000} s`;
  if (!(error instanceof Error)) return String(error);
  const details = error instanceof ClientError ? error.details : [];
  const lines = details
    .filter(({ message }) => !error.message.includes(message))
    .map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  return [error.message, ...lines].join('; ');
}

function remedyOf(step: Step, code: FailureCode, error: unknown): string {
  switch (code) {
    case 'stale':
      return 'make a new plan, review it and apply it';
    case 'not-ready':
      return `inspect the container, or raise the timeout in manage.wait of ${step.address}; then apply again`;
    case 'timeout':
      return `raise manage.timeout in ${step.address}, then apply again`;
    case 'unreachable':
      return 'check that the daemon runs, then apply again: completed steps stay';
    case 'interrupted':
      return 'apply again: it continues from the current state';
    case 'failed':
      return error instanceof ClientError && error.status === 403
        ? 'use credentials with this permission'
        : 'fix the cause that the message names, then apply again: completed steps stay';
    default:
      return '';
  }
}
