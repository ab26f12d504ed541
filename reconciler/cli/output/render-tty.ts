// The rows that are repainted at the bottom of a terminal while steps run. Pure: reporter.ts decides when to paint.
import type { Paint } from './paint.ts';
import { renderElapsed, words, type Progress } from './progress.ts';

const barWidth = 20;
const maxRows = 12;

/** No line is wider than `columns`, so that moving the cursor up by their count reaches the first. */
export function renderFrame(progress: Progress, nowMs: number, columns: number, paint: Paint): string[] {
  const shown = progress.rows.slice(0, maxRows).map((row) => {
    const head = `${row.step.address}: ${words[row.step.action].doing}...`;
    const elapsed = `[${renderElapsed(nowMs - row.startedMs)}]`;
    const bar = row.percent === undefined ? '' : ` ${renderBar(row.percent)}`;
    const text = row.text === '' ? '' : ` ${row.text}`;
    const plain = cut(`${head} ${elapsed}${bar}${text}`, columns);
    return plain.startsWith(head) ? `${paint.bold(head)}${plain.slice(head.length)}` : plain;
  });
  const hidden = progress.rows.length - shown.length;
  const more = hidden > 0 ? [cut(`... and ${hidden} more`, columns)] : [];
  const finished = progress.done + progress.failed + progress.skipped;
  const failed = progress.failed === 0 ? '' : `, ${progress.failed} failed`;
  return [...shown, ...more, paint.dim(cut(`${finished} of ${progress.total} steps${failed}`, columns))];
}

function renderBar(percent: number): string {
  const full = Math.round((Math.min(100, percent) / 100) * barWidth);
  return `[${'#'.repeat(full)}${'.'.repeat(barWidth - full)}]`;
}

const cut = (text: string, columns: number): string =>
  text.length <= columns ? text : `${text.slice(0, Math.max(0, columns - 3))}...`;
