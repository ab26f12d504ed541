// Changes by others, day by day, with their author and outcome; new drift appears by itself.
import { useMemo } from 'preact/hooks';
import type { DriftRecord } from '../../../controller/contract/index.ts';
import { api } from '../../data/api.ts';
import { objectKey } from '../../data/objects.ts';
import { newDrift } from '../../data/store.ts';
import { useLoad } from '../../parts/load.ts';
import { Bones, Empty, Trouble } from '../../parts/states.tsx';
import { WordMark } from '../../parts/status.tsx';
import { clockText, dayText, exactText, tookText } from '../../parts/time.tsx';
import { to } from '../../data/router.ts';
import { byDay } from './by-day.ts';

interface Entry {
  readonly set: string;
  readonly drift: DriftRecord;
}

const maxShown = 500;

export function DriftList({ sets }: { readonly sets: readonly string[] }) {
  const { data, error, again } = useLoad((signal) => readAll(sets, signal), [sets.join('\n')]);
  const entries = useMemo(() => merged(data ?? [], newDrift.value, sets), [data, newDrift.value]);
  if (data === undefined) {
    if (error === undefined) return <Bones label="Loading drift" />;
    return <Trouble title="The drift could not be read" message={error} again={again} />;
  }
  if (entries.length === 0) return <Empty title="No drift">Nobody has changed what is declared.</Empty>;
  return (
    <section class="card" aria-label="Drift">
      {byDay(entries, ({ drift }) => dayText(drift.at)).map(({ day, items }) => (
        <div key={day}>
          <h2 class="day">{day}</h2>
          <ol class="timeline">
            {items.map((entry) => (
              <DriftRow key={`${entry.set} ${entry.drift.id}`} entry={entry} isSetShown={sets.length > 1} />
            ))}
          </ol>
        </div>
      ))}
    </section>
  );
}

export function DriftRow({
  entry: { set, drift },
  isSetShown,
}: {
  readonly entry: Entry;
  readonly isSetShown: boolean;
}) {
  return (
    <li class={`drift-row drift-${drift.action}`}>
      <time class="soft small" dateTime={drift.at} title={exactText(drift.at)}>
        {clockText(drift.at)}
      </time>
      <div class="grow">
        <p>
          <a href={to(['sets', set], { object: objectKey(drift.host, drift.address) })}>{drift.address}</a>{' '}
          <span class="soft">
            on {drift.host}
            {isSetShown && ` in ${set}`}
          </span>
        </p>
        <p class="small">
          {drift.paths.map((path) => (
            <code key={path} class="path">
              {path}
            </code>
          ))}{' '}
          changed by <strong>{drift.by ?? 'someone unknown'}</strong>
          {drift.healedAt !== undefined && (
            <span class="soft">, healed after {tookText(drift.at, drift.healedAt)}</span>
          )}
        </p>
        {drift.message !== undefined && <p class="small soft lines">{drift.message}</p>}
      </div>
      <WordMark word={drift.action} />
    </li>
  );
}

async function readAll(sets: readonly string[], signal: AbortSignal): Promise<readonly Entry[]> {
  const lists = await Promise.all(
    sets.map(async (set) => (await api.drift(set, signal)).map((drift) => ({ set, drift }))),
  );
  return lists.flat();
}

/** Both lists as one, newest first; an event replaces the record that was read. */
function merged(read: readonly Entry[], fresh: readonly Entry[], sets: readonly string[]): readonly Entry[] {
  const found = new Map<string, Entry>();
  for (const entry of read) found.set(`${entry.set} ${entry.drift.id}`, entry);
  for (const entry of fresh.toReversed())
    if (sets.includes(entry.set)) found.set(`${entry.set} ${entry.drift.id}`, entry);
  return [...found.values()].sort((a, b) => (a.drift.at < b.drift.at ? 1 : -1)).slice(0, maxShown);
}
