// Renders one line per event, for logs and pipes and for the permanent lines of a terminal. Pure.
import type { EngineEvent } from '../../engine/steps/events.ts';
import type { Paint } from './paint.ts';
import { renderElapsed, words } from './progress.ts';

/** Undefined: no line. Starts are printed only where no repainted row shows them. */
export function renderPlainEvent(event: EngineEvent, paint: Paint, withStarts = true): string | undefined {
  const { step } = event;
  const address = paint.bold(`${step.address}:`);
  switch (event.type) {
    case 'apply_start':
      return withStarts ? `${address} ${words[step.action].doing}...` : undefined;
    case 'apply_complete': {
      const note = event.note === undefined ? '' : paint.dim(` (${event.note})`);
      return `${address} ${paint.green(words[step.action].done)} after ${renderElapsed(event.elapsedMs)}${note}`;
    }
    case 'apply_errored': {
      const verb = event.failure.code === 'interrupted' ? 'interrupted' : 'failed';
      const after = renderElapsed(event.elapsedMs);
      return `${address} ${paint.red(`${words[step.action].noun} ${verb}`)} after ${after}: ${event.failure.why}`;
    }
    case 'apply_skipped':
      // The outcome counts them.
      if (event.isOneOfAll === true) return undefined;
      return `${address} ${paint.yellow(`${words[step.action].noun} skipped`)}: ${event.because}`;
    case 'apply_progress':
    case 'exec_output':
    case 'operation_update':
      return undefined;
    default:
      return undefined;
  }
}

/** Printed at intervals while a slow step runs. */
export function renderStill(
  row: { readonly step: EngineEvent['step']; readonly startedMs: number; readonly text: string },
  nowMs: number,
): string {
  const text = row.text === '' ? '' : ` ${row.text}`;
  const doing = words[row.step.action].doing.toLowerCase();
  return `${row.step.address}: Still ${doing}... [${renderElapsed(nowMs - row.startedMs)}]${text}`;
}
