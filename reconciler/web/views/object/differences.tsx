// Each field that differs: desired beside live, its cost, and a button that leaves it alone.
import type { Difference } from '../../../controller/http/contract.ts';
import { canOperate } from '../../data/store.ts';
import { StatusMark } from '../../parts/status.tsx';
import { ask } from '../set/questions.tsx';
import { valueText } from './value-text.ts';

export interface DifferencesProps {
  readonly set: string;
  readonly host?: string;
  readonly address: string;
  readonly differences: readonly Difference[];
}

export function Differences({ set, host, address, differences }: DifferencesProps) {
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
              <span class="soft small">{costs[difference.effect]}</span>
              {canOperate.value && host !== undefined && difference.path !== '' && (
                <button
                  class="button plain"
                  aria-label={`Suspend ${difference.path}`}
                  onClick={() => ask({ kind: 'suspend', set, host, address, path: difference.path })}
                >
                  Suspend
                </button>
              )}
            </div>
            <div class="sides">
              <Side
                title="desired"
                isSecret={difference.isSecret}
                isThere={'desired' in difference}
                value={difference.desired}
              />
              <Side
                title="live"
                isSecret={difference.isSecret}
                isThere={'live' in difference}
                value={difference.live}
              />
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}

const costs: Readonly<Record<Difference['effect'], string>> = {
  live: 'changes while it runs',
  restart: 'needs a restart',
  recreate: 'needs a new object',
};

interface SideProps {
  readonly title: 'desired' | 'live';
  readonly isSecret: boolean;
  readonly isThere: boolean;
  readonly value: unknown;
}

function Side({ title, isSecret, isThere, value }: SideProps) {
  return (
    <div class={`side ${title}`}>
      <span class="side-title">{title}</span>
      {isThere ? (
        isSecret ? (
          <em class="soft">secret, not shown</em>
        ) : (
          <pre>{valueText(value)}</pre>
        )
      ) : (
        <em class="soft">absent</em>
      )}
    </div>
  );
}
