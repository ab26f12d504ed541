// The events of the engine, as data; the caller renders them.
import type { Problem } from '../../../server/api/problem.ts';
import type { Operation } from '../../../server/api/operation.ts';
import type { Address } from '../../core/documents/document.ts';
import type { Step } from '../../core/plan/plan.ts';

/** `stale`: the object changed since the plan. `not-ready`: a wait ran out. `interrupted`: cancelled by the user. */
export type FailureCode = 'failed' | 'stale' | 'not-ready' | 'timeout' | 'unreachable' | 'interrupted';

export interface Failure {
  readonly stepId: string;
  readonly address: Address;
  readonly code: FailureCode;
  /** What was tried: `create container/web1`. */
  readonly what: string;
  readonly why: string;
  /** What to do about it. */
  readonly remedy: string;
  /** The problems that the server reports, by path in the object. */
  readonly details?: readonly Problem[];
}

/** The result of a command that ran to its end. */
export interface CommandOutput {
  /** Its name in the document. */
  readonly exec: string;
  readonly code: number;
  /** The last output, standard output and standard error together. */
  readonly output: string;
}

interface StepEvent {
  readonly step: Step;
  readonly atMs: number;
}

export type EngineEvent =
  | (StepEvent & { readonly type: 'apply_start' })
  /** `percent` when the progress is known. */
  | (StepEvent & { readonly type: 'apply_progress'; readonly text: string; readonly percent?: number })
  | (StepEvent & { readonly type: 'operation_update'; readonly operation: Operation })
  | (StepEvent & CommandOutput & { readonly type: 'exec_output' })
  /** `note`: why the step had little or nothing to do. */
  | (StepEvent & { readonly type: 'apply_complete'; readonly elapsedMs: number; readonly note?: string })
  | (StepEvent & { readonly type: 'apply_errored'; readonly elapsedMs: number; readonly failure: Failure })
  /** Never started: a dependency did not succeed, or the run was interrupted before. */
  | (StepEvent & {
      readonly type: 'apply_skipped';
      readonly because: string;
      /** All steps that had not started are skipped for this reason. */
      readonly isOneOfAll?: true;
    });

/** Text and percentage from the metadata of an operation, under any key: servers name the key after the work. */
export function progressOf(operation: Operation): { readonly text: string; readonly percent?: number } | undefined {
  for (const [key, value] of Object.entries(operation.metadata ?? {})) {
    if (!key.endsWith('progress') || typeof value !== 'string' || value === '') continue;
    const percent = /(\d{1,3})%/.exec(value)?.[1];
    return { text: value, ...(percent === undefined ? {} : { percent: Number(percent) }) };
  }
  return undefined;
}
