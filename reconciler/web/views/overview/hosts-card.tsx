// Hosts with their labels: those that do not answer first, then by name; a long list is shortened.
import { Card } from '../../parts/card.tsx';
import { useState } from 'preact/hooks';
import type { HostStatus } from '../../../controller/contract/index.ts';
import { Empty } from '../../parts/states.tsx';
import { WordMark } from '../../parts/status.tsx';
import { to } from '../../data/router.ts';

const shownAtFirst = 12;

export function HostsCard({ hosts }: { readonly hosts: readonly HostStatus[] }) {
  const [areAll, setAll] = useState(false);
  const sorted = [...hosts].sort((a, b) => rank(a) - rank(b) || a.name.localeCompare(b.name, 'en', { numeric: true }));
  const shown = areAll ? sorted : sorted.slice(0, shownAtFirst);
  return (
    <Card
      id="hosts-title"
      title="Hosts"
      count={hosts.length}
      more={
        hosts.length > shownAtFirst && (
          <button class="button" aria-expanded={areAll} onClick={() => setAll(!areAll)}>
            {areAll ? 'Show fewer' : `Show all ${hosts.length}`}
          </button>
        )
      }
    >
      {hosts.length === 0 ? (
        <Empty title="No hosts">
          <p>Name a hosts file below `hosts` in gantry.yaml.</p>
        </Empty>
      ) : (
        <ul class="tiles">
          {shown.map((host) => (
            <li key={host.name} class="tile">
              <div class="tile-head">
                <a class="name" href={to(['hosts', host.name])}>
                  {host.name}
                </a>
                <WordMark word={host.status} />
              </div>
              <p class="soft small">{labelsOf(host)}</p>
              {host.message !== undefined && <p class="small bad-text">{host.message}</p>}
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

export const labelsOf = ({ labels }: HostStatus): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join('  ') || 'no labels';

const rank = ({ status }: HostStatus): number => (status === 'online' ? 1 : 0);
