// What a person must do now, above everything else; hidden while there is nothing to do.
import { Card } from '../../parts/card.tsx';
import { useState } from 'preact/hooks';
import { to } from '../../data/router.ts';
import { StatusMark } from '../../parts/status.tsx';
import type { Need } from './needs.ts';

const shownAtFirst = 6;

export function NeedsCard({ needs }: { readonly needs: readonly Need[] }) {
  const [areAll, setAll] = useState(false);
  if (needs.length === 0) return null;
  return (
    <Card
      id="needs-title"
      title="Needs you"
      count={needs.length}
      more={
        needs.length > shownAtFirst && (
          <button class="button" aria-expanded={areAll} onClick={() => setAll(!areAll)}>
            {areAll ? 'Show fewer' : `Show all ${needs.length}`}
          </button>
        )
      }
    >
      <ul class="needs">
        {(areAll ? needs : needs.slice(0, shownAtFirst)).map(({ key, tone, word, what, why, path, query }) => (
          <li key={key}>
            <StatusMark status={tone} text={word} />
            <span class="grow">
              <a class="name" href={to(path, query)}>
                {what}
              </a>{' '}
              <span class="small lines">{why}</span>
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}
