// Which file does which step.
import type { Step } from '../../core/plan.ts';
import { assertNever } from '../assert-never.ts';
import type { Note, StepContext } from './context.ts';
import { createImage } from './create-image.ts';
import { createObject } from './create.ts';
import { deleteObject } from './delete.ts';
import { changePower } from './power.ts';
import { updateObject } from './update.ts';
import { waitFor } from './wait.ts';

export function runStep(context: StepContext, step: Step, signal: AbortSignal): Promise<Note> {
  switch (step.action) {
    case 'create':
      return step.upload === undefined
        ? createObject(context, step, signal)
        : createImage(context, step, step.upload, signal);
    case 'update':
      return updateObject(context, step, signal);
    case 'delete':
      return deleteObject(context, step, signal);
    case 'start':
    case 'stop':
    case 'restart':
      return changePower(context, step, signal);
    case 'wait':
      return waitFor(context, step, signal);
    default:
      return assertNever(step);
  }
}
