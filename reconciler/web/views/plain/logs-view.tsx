// The live log of the controller, of one set or all, from a level upwards. It scrolls along while its end is visible.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { LogLevel, LogLine } from '../../../controller/contract/index.ts';
import { api } from '../../data/api.ts';
import { newLogLines, overview } from '../../data/store.ts';
import { folded } from '../../parts/fold.ts';
import { useLoad } from '../../parts/load.ts';
import { Bones, Empty, Trouble } from '../../parts/states.tsx';
import { WordMark } from '../../parts/status.tsx';
import { clockText, exactText } from '../../parts/time.tsx';
import { place, refine } from '../../data/router.ts';
import { Choice } from '../../parts/choice.tsx';

const levels: readonly LogLevel[] = ['debug', 'info', 'warn', 'error'];
const maxShown = 1000;

export function LogsView() {
  const { set = '', level = 'info', search = '' } = place.value.query;
  const from = levels.find((each) => each === level) ?? 'info';
  const { data, error, again } = useLoad(
    (signal) => api.logs({ level: from, ...(set !== '' && { set }) }, signal),
    [set, from],
  );
  const lines = useMemo(
    () => linesToShow(data ?? [], newLogLines.value, { set, from, search }),
    [data, newLogLines.value, set, from, search],
  );
  return (
    <>
      <header class="view-head">
        <h1>Logs</h1>
        <search class="filters">
          <label class="field grow">
            <span class="hidden">Search the log</span>
            <input
              class="input"
              type="search"
              placeholder="Search   /"
              value={search}
              onInput={(event) => refine({ search: event.currentTarget.value })}
            />
          </label>
          <Choice
            label="Level"
            value={from}
            options={levels.map((each) => ({ value: each, text: `${each} and above` }))}
            choose={(next) => refine({ level: next })}
          />
          <Choice
            label="Set"
            value={set}
            all="all sets"
            options={(overview.value?.sets ?? []).map(({ name }) => ({ value: name, text: name }))}
            choose={(next) => refine({ set: next })}
          />
        </search>
      </header>
      {data === undefined ? (
        error === undefined ? (
          <Bones label="Loading the log" />
        ) : (
          <Trouble title="The log could not be read" message={error} again={again} />
        )
      ) : (
        <Lines lines={lines} />
      )}
    </>
  );
}

function Lines({ lines }: { readonly lines: readonly LogLine[] }) {
  const box = useRef<HTMLDivElement>(null);
  const [isFollowing, setFollowing] = useState(true);
  useEffect(() => {
    if (isFollowing && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [lines, isFollowing]);
  if (lines.length === 0) return <Empty title="No lines" />;
  const onScroll = (event: { readonly currentTarget: HTMLElement }): void => {
    const { scrollTop, scrollHeight, clientHeight } = event.currentTarget;
    setFollowing(scrollHeight - scrollTop - clientHeight < 40);
  };
  return (
    <div class="card fill log" ref={box} role="log" aria-live="off" aria-label="Log" tabIndex={0} onScroll={onScroll}>
      {folded(lines, areAlike).map(({ last: line, times }, at) => (
        <p key={`${line.at} ${at}`} class={`log-line log-${line.level}`}>
          <time class="soft" dateTime={line.at} title={exactText(line.at)}>
            {clockText(line.at)}
          </time>
          <WordMark word={line.level} />
          <span class="grow lines">
            {line.message}
            {times > 1 && <strong> × {times}</strong>}
            <span class="soft"> {[line.set, line.host, line.source].filter(Boolean).join(' · ')}</span>
          </span>
        </p>
      ))}
    </div>
  );
}

/** Whether two lines differ only in their time. */
const areAlike = (one: LogLine, next: LogLine): boolean =>
  one.level === next.level &&
  one.message === next.message &&
  one.set === next.set &&
  one.host === next.host &&
  one.source === next.source;

interface LineFilter {
  readonly set: string;
  readonly from: LogLevel;
  readonly search: string;
}

function linesToShow(
  read: readonly LogLine[],
  fresh: readonly LogLine[],
  { set, from, search }: LineFilter,
): readonly LogLine[] {
  const last = read.at(-1)?.at ?? '';
  const least = levels.indexOf(from);
  const word = search.toLowerCase();
  return [...read, ...fresh.filter(({ at }) => at > last)]
    .filter(
      (line) =>
        levels.indexOf(line.level) >= least &&
        (set === '' || line.set === set) &&
        (word === '' || line.message.toLowerCase().includes(word)),
    )
    .slice(-maxShown);
}
