// Each field that differs: a diff from live to desired, the cost of the change, and a button that suspends the field.
import type { Difference } from '../../../controller/contract/index.ts';
import { may } from '../../data/store.ts';
import { StatusMark } from '../../parts/status.tsx';
import { ask } from '../questions/questions.tsx';
import { diffLines, valueText, type DiffLine } from './value-text.ts';

export interface DifferencesProps {
  readonly set: string;
  readonly host?: string;
  readonly address: string;
  /** False: the object is yet to be created. */
  readonly isLive: boolean;
  readonly differences: readonly Difference[];
}

export function Differences({ set, host, address, isLive, differences }: DifferencesProps) {
  if (differences.length === 0) {
    return (
      <p class="agree">
        <StatusMark status="synced" text="Live is as desired" />
      </p>
    );
  }
  return (
    <section aria-label="Differences">
      <h3>{differences.length === 1 ? '1 difference' : `${differences.length} differences`}</h3>
      <ul class="differences">
        {differences.map((difference) => (
          <li key={difference.path}>
            <div class="difference-head">
              <code>{difference.path === '' ? 'the object as a whole' : difference.path}</code>
              <span class="soft small">{costOf(difference, isLive)}</span>
              {may('suspend', set) && host !== undefined && !wholes.has(difference.path) && (
                <button
                  class="button plain"
                  aria-label={`Suspend ${difference.path}`}
                  onClick={() => ask({ kind: 'suspend', set, host, address, path: difference.path })}
                >
                  Suspend
                </button>
              )}
            </div>
            <UnifiedDiff difference={difference} />
          </li>
        ))}
      </ul>
    </section>
  );
}

/** Differences that are no fields: only the whole object can be suspended. */
const wholes = new Set(['', 'state']);

const costs: Readonly<Record<Difference['effect'], string>> = {
  live: 'changes while it runs',
  restart: 'needs a restart',
  recreate: 'needs a new object',
};

/** What bringing the field to its desired value means for the object. */
function costOf(difference: Difference, isLive: boolean): string {
  if (!isLive) return 'comes with the new object';
  if (difference.path === '' && !('desired' in difference)) return 'will be deleted';
  return costs[difference.effect];
}

function UnifiedDiff({ difference }: { readonly difference: Difference }) {
  if (difference.isSecret) return <p class="diff-note soft">secret, not shown: the two values differ</p>;
  return (
    <pre class="diff">
      <DiffLines lines={diffLines(linesOf(difference, 'desired'), linesOf(difference, 'live'))} />
    </pre>
  );
}

function linesOf(difference: Difference, side: 'desired' | 'live'): readonly string[] {
  return side in difference ? valueText(difference[side]).split('\n') : [];
}

const signs = { both: ' ', desired: '+', live: '-' } as const;
const words = { both: '', desired: 'desired: ', live: 'live: ' } as const;

/** `-` lines are live and will go, `+` lines are desired and will come; a screen reader gets words. */
export function DiffLines({ lines }: { readonly lines: readonly DiffLine[] }) {
  return (
    <>
      {lines.map(({ side, text }, at) => (
        <span key={at} class={`line line-${side}`}>
          <span aria-hidden="true">{signs[side]} </span>
          <span class="hidden">{words[side]}</span>
          {text}
          {'\n'}
        </span>
      ))}
    </>
  );
}
