// The history of all sets, day by day: runs with their author and reason, and changes by others. New entries appear by themselves.
import { useEffect, useRef, useState } from 'preact/hooks';
import type { TimelineEntry } from '../../../controller/contract/index.ts';
import { api } from '../../data/api.ts';
import { place, refine, to } from '../../data/router.ts';
import { newDrift, overview, runsSeen } from '../../data/store.ts';
import { ChangeText } from '../../parts/change-text.tsx';
import { Choice } from '../../parts/choice.tsx';
import { useLoad } from '../../parts/load.ts';
import { Revision } from '../../parts/revision.tsx';
import { Bones, Empty, Trouble } from '../../parts/states.tsx';
import { WordMark } from '../../parts/status.tsx';
import { clockText, dayText, exactText } from '../../parts/time.tsx';
import { byDay } from './by-day.ts';
import { DriftRow } from './drift-list.tsx';

const everyMs = 2000;

export function TimelineView() {
  const { set = '', host = '', what = '' } = place.value.query;
  const news = useThrottled(`${runsSeen.value} ${newDrift.value[0]?.drift.id}`, everyMs);
  const { data, error, again } = useLoad((stop) => api.timeline({ set, host }, stop), [set, host, news]);
  const shown = (data ?? []).filter(({ run }) => what === '' || (what === 'runs') === (run !== undefined));
  const { sets = [], hosts = [] } = overview.value ?? {};
  return (
    <>
      <header class="view-head">
        <h1>Timeline</h1>
        <search class="filters" aria-label="Filter of the timeline">
          <Choice
            label="What"
            value={what}
            all="runs and drift"
            options={[
              { value: 'runs', text: 'runs' },
              { value: 'drift', text: 'drift' },
            ]}
            choose={(next) => refine({ what: next })}
          />
          <Choice
            label="Set"
            value={set}
            all="all sets"
            options={sets.map(({ name }) => ({ value: name, text: name }))}
            choose={(next) => refine({ set: next })}
          />
          <Choice
            label="Host"
            value={host}
            all="all hosts"
            options={hosts.map(({ name }) => ({ value: name, text: name }))}
            choose={(next) => refine({ host: next })}
          />
        </search>
      </header>
      {data === undefined && error === undefined && <Bones label="Loading the timeline" />}
      {data === undefined && error !== undefined && (
        <Trouble title="The timeline could not be read" message={error} again={again} />
      )}
      {data !== undefined && shown.length === 0 && <Empty title="Nothing has happened" />}
      {shown.length > 0 && (
        <section class="card" aria-label="Timeline">
          {byDay(shown, ({ at }) => dayText(at)).map(({ day, items }) => (
            <div key={day}>
              <h2 class="day">{day}</h2>
              <ol class="timeline">
                {items.map((entry) => (
                  <Row key={`${entry.set} ${entry.run?.id ?? entry.drift?.id}`} entry={entry} />
                ))}
              </ol>
            </div>
          ))}
        </section>
      )}
    </>
  );
}

function Row({ entry: { at, set, run, drift } }: { readonly entry: TimelineEntry }) {
  if (drift !== undefined) return <DriftRow entry={{ set, drift }} isSetShown />;
  if (run === undefined) return null;
  const { outcome, reason, by, revision, changes, hosts, message } = run;
  const tone = outcome === 'failed' ? 'bad-text' : 'soft';
  return (
    <li class="drift-row">
      <time class="soft small" dateTime={at} title={exactText(at)}>
        {clockText(at)}
      </time>
      <div class="grow">
        <p>
          <a href={to(['sets', set, 'history'])}>{set}</a> <Revision revision={revision} /> <strong>{reason}</strong>{' '}
          <span class="soft">by {by}</span>
        </p>
        <p class="soft small">
          <ChangeText {...changes} isDone={outcome !== 'running'} /> on{' '}
          {hosts.length === 1 ? hosts[0] : `${hosts.length} hosts`}
        </p>
        {message !== undefined && <p class={`small lines ${tone}`}>{message}</p>}
      </div>
      <WordMark word={outcome} />
    </li>
  );
}

/** Limits how often a value changes, so that data that is read again after each change has time to arrive. */
function useThrottled<T>(value: T, everyMs: number): T {
  const [taken, setTaken] = useState(value);
  const newest = useRef(value);
  newest.current = value;
  useEffect(() => {
    const timer = setInterval(() => setTaken(newest.current), everyMs);
    return () => clearInterval(timer);
  }, [everyMs]);
  return taken;
}
