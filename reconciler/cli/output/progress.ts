// The state of a run as the renderers show it: a pure reducer over the engine's events.
import type { EngineEvent } from '../../engine/steps/events.ts';
import type { Step } from '../../core/plan/plan.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface Row {
  readonly step: Step;
  readonly startedMs: number;
  /** Progress as the daemon reports it: `Unpack: 42%`. */
  readonly text: string;
  readonly percent?: number;
}

export interface Progress {
  /** Running steps, in the order of their start. */
  readonly rows: readonly Row[];
  readonly done: number;
  readonly failed: number;
  readonly skipped: number;
  readonly total: number;
}

export const startProgress = (total: number): Progress => ({ rows: [], done: 0, failed: 0, skipped: 0, total });

export function reduceProgress(progress: Progress, event: EngineEvent): Progress {
  const without = (): readonly Row[] => progress.rows.filter(({ step }) => step.id !== event.step.id);
  switch (event.type) {
    case 'apply_start':
      return { ...progress, rows: [...progress.rows, { step: event.step, startedMs: event.atMs, text: '' }] };
    case 'apply_progress':
      return {
        ...progress,
        rows: progress.rows.map((row) => (row.step.id === event.step.id ? advanced(row, event) : row)),
      };
    case 'apply_complete':
      return { ...progress, rows: without(), done: progress.done + 1 };
    case 'apply_errored':
      return { ...progress, rows: without(), failed: progress.failed + 1 };
    case 'apply_skipped':
      return { ...progress, skipped: progress.skipped + 1 };
    case 'operation_update':
    case 'exec_output':
      return progress;
    default:
      return progress;
  }
}

const advanced = (row: Row, event: { readonly text: string; readonly percent?: number }): Row => ({
  step: row.step,
  startedMs: row.startedMs,
  text: event.text,
  ...withoutUndefined({ percent: event.percent }),
});

interface Words {
  readonly doing: string;
  readonly done: string;
  readonly noun: string;
}
export const words: Readonly<Record<Step['action'], Words>> = {
  create: { doing: 'Creating', done: 'Created', noun: 'Creation' },
  update: { doing: 'Updating', done: 'Updated', noun: 'Update' },
  rebuild: { doing: 'Rebuilding', done: 'Rebuilt', noun: 'Rebuild' },
  delete: { doing: 'Deleting', done: 'Deleted', noun: 'Deletion' },
  start: { doing: 'Starting', done: 'Started', noun: 'Start' },
  stop: { doing: 'Stopping', done: 'Stopped', noun: 'Stop' },
  restart: { doing: 'Restarting', done: 'Restarted', noun: 'Restart' },
  wait: { doing: 'Waiting', done: 'Ready', noun: 'Wait' },
  files: { doing: 'Writing files', done: 'Files written', noun: 'Writing of files' },
  exec: { doing: 'Running a command', done: 'Command ended', noun: 'Command' },
  snapshot: { doing: 'Taking a snapshot', done: 'Snapshot taken', noun: 'Snapshot' },
};

/** `0.4s`, `12s`, `1m05s`. */
export function renderElapsed(ms: number): string {
  if (ms < 9950) return `${(Math.max(0, ms) / 1000).toFixed(1)}s`;
  const seconds = Math.max(0, Math.round(ms / 1000));
  return seconds < 60 ? `${seconds}s` : `${Math.floor(seconds / 60)}m${String(seconds % 60).padStart(2, '0')}s`;
}
