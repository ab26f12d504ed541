// Turns what a step threw into words for people: what was tried, why it failed, what to do. Pure.
import { ClientError } from '../../server/client/client-error.ts';
import { pathText } from '../core/documents/inside.ts';
import type { Step } from '../core/plan/plan.ts';
import type { Failure, FailureCode } from './steps/events.ts';
import { NotReadyError } from '../../server/client/wait/readiness.ts';
import { StaleError } from './steps/context.ts';

/** A step took longer than its object allows (`manage.timeout`). */
export class StepTimeoutError extends Error {
  override readonly name = 'StepTimeoutError';
}

export function failureOf(step: Step, error: unknown, isInterrupted: boolean): Failure {
  const code = isInterrupted ? 'interrupted' : codeOf(error);
  return {
    stepId: step.id,
    address: step.address,
    code,
    what: whatOf(step),
    why: isInterrupted ? 'cancelled while it was at work' : whyOf(error),
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
  if (error instanceof StepTimeoutError) return 'timeout';
  if (!(error instanceof ClientError)) return 'failed';
  if (error.code === 'unreachable' || error.code === 'untrusted') return 'unreachable';
  return error.code === 'timeout' ? 'timeout' : 'failed';
}

function whyOf(error: unknown): string {
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
      return 'look at a new plan and apply that';
    case 'not-ready':
      return `look into the container, or give it longer with manage.wait in ${step.address}; then apply again`;
    case 'timeout':
      return `give it longer with manage.timeout in ${step.address}, then apply again`;
    case 'unreachable':
      return 'see that the daemon runs, then apply again: what is done stays done';
    case 'interrupted':
      return 'apply again: it goes on from what is there';
    case 'failed':
      return error instanceof ClientError && error.status === 403
        ? 'use credentials that may do this'
        : 'correct what the message names, then apply again: what is done stays done';
    default:
      return '';
  }
}
