// One object beside the list or the graph: its desired and live values, its history, and its actions.
import { useEffect, useRef, useMemo, useState } from 'preact/hooks';
import type { ObjectDetail, Suspension } from '../../../controller/contract/index.ts';
import { api } from '../../data/api.ts';
import { entryFor } from '../../data/objects.ts';
import { may, canUseConsole } from '../../data/store.ts';
import { Icon } from '../../parts/icons.tsx';
import { useLoad } from '../../parts/load.ts';
import { Bones, Trouble } from '../../parts/states.tsx';
import { StatusMark, WordMark } from '../../parts/status.tsx';
import { Ago, exactText } from '../../parts/time.tsx';
import { refine, to } from '../../data/router.ts';
import { Revision } from '../../parts/revision.tsx';
import { ask, suspensionsChanged } from '../questions/questions.tsx';
import { Differences, DiffLines } from './differences.tsx';
import { diffLines, valueText } from './value-text.ts';

export function ObjectDrawer({ set, objectKey }: { readonly set: string; readonly objectKey: string }) {
  const title = useRef<HTMLHeadingElement>(null);
  const before = useRef<Element | null>(document.activeElement);
  const [host = '', address = ''] = splitKey(objectKey);
  const entry = entryFor(objectKey);
  const { data, error, isLoading, again } = useLoad(
    (signal) => api.object(set, host, address, signal),
    [set, objectKey, entry?.object.status, entry?.object.message, suspensionsChanged.value],
  );
  const close = (): void => {
    refine({ object: undefined });
    if (before.current instanceof HTMLElement) before.current.focus();
  };
  useEffect(() => {
    title.current?.focus();
    const onKey = (event: KeyboardEvent): void => {
      if (event.key === 'Escape' && document.querySelector('dialog[open]') === null) close();
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, []);
  const status = entry?.object.status ?? data?.summary.status;
  return (
    <aside class="drawer" aria-labelledby="object-title">
      <header class="drawer-head">
        <div>
          <h2 id="object-title" ref={title} tabIndex={-1}>
            {address}
          </h2>
          <p class="soft small">
            on {host} {status !== undefined && <StatusMark status={status} />}
          </p>
        </div>
        <button class="button plain icon-only" aria-label="Close the object" title="Close (Esc)" onClick={close}>
          <Icon name="close" />
        </button>
      </header>
      <div class="drawer-body" aria-busy={isLoading}>
        {error !== undefined && data === undefined && (
          <Trouble title="The object could not be read" message={error} again={again} />
        )}
        {error === undefined && data === undefined && <Bones label="Loading the object" />}
        {data !== undefined && <Body set={set} host={host} address={address} detail={data} />}
      </div>
    </aside>
  );
}

interface BodyProps {
  readonly set: string;
  readonly host: string;
  readonly address: string;
  readonly detail: ObjectDetail;
}

function Body({ set, host, address, detail }: BodyProps) {
  const { summary, differences, suspensions, history } = detail;
  return (
    <>
      {summary.message !== undefined && <p class="lines">{summary.message}</p>}
      <div class="actions">
        {may('suspend', set) && (
          <button class="button" onClick={() => ask({ kind: 'suspend', set, host, address })}>
            <Icon name="suspended" /> Suspend
          </button>
        )}
        {canUseConsole.value && summary.kind === 'container' && (
          <>
            <a class="button" href={to(['console', host, summary.name], { project: summary.project })}>
              <Icon name="console" /> Console
            </a>
            <a class="button" href={to(['hosts', host, summary.name], { project: summary.project })}>
              Figures, log, files
            </a>
          </>
        )}
        {summary.dependsOn.length > 0 && (
          <a class="button" href={to(['sets', set, 'graph'], { object: `${host} ${address}`, host })}>
            <Icon name="fit" /> In the graph
          </a>
        )}
      </div>
      <Suspended set={set} suspensions={suspensions} />
      {detail.desired === undefined && summary.status === 'undeclared' ? (
        <p class="agree">
          <StatusMark status="undeclared" text="No manifest declares it, so nothing is compared" />
        </p>
      ) : (
        <Differences
          set={set}
          host={host}
          address={address}
          isLive={detail.live !== undefined}
          differences={differences}
        />
      )}
      <Documents detail={detail} />
      <section aria-labelledby="object-history">
        <h3 id="object-history">History</h3>
        {history.length === 0 ? (
          <p class="soft">{detail.isHistoryCut === true ? 'No change of it is kept.' : 'Nothing was changed yet.'}</p>
        ) : (
          <ol class="history">
            {history.map((change, at) => (
              <li key={`${change.at} ${at}`}>
                <span>
                  <WordMark word={change.message === undefined ? 'done' : 'failed'} /> <strong>{change.action}</strong>{' '}
                  by {change.by} <Revision revision={change.revision} />
                </span>
                <span class="soft small" title={exactText(change.at)}>
                  <Ago at={change.at} />
                </span>
                {change.reason !== undefined && <span class="small whole">{change.reason}</span>}
                {change.message !== undefined && <span class="small bad-text whole lines">{change.message}</span>}
              </li>
            ))}
          </ol>
        )}
        {detail.isHistoryCut === true && history.length > 0 && (
          <p class="soft small">What happened before is not kept.</p>
        )}
      </section>
    </>
  );
}

function Suspended({ set, suspensions }: { readonly set: string; readonly suspensions: readonly Suspension[] }) {
  if (suspensions.length === 0) return null;
  return (
    <ul class="suspensions">
      {suspensions.map(({ id, path, reason, by, until }) => (
        <li key={id}>
          <StatusMark status="suspended" />
          <span class="grow">
            {path !== undefined && <code>{path} </code>}
            {reason} <span class="soft">by {by}</span>
            {until !== undefined && (
              <span class="soft">
                , ends <Ago at={until} />
              </span>
            )}
          </span>
          {may('suspend', set) && (
            <button class="button" onClick={() => ask({ kind: 'resume', set, id, what: path ?? 'the object' })}>
              Resume
            </button>
          )}
        </li>
      ))}
    </ul>
  );
}

/** Addresses have no spaces before the first one: a host's name has none. */
function splitKey(key: string): readonly string[] {
  const at = key.indexOf(' ');
  return [key.slice(0, at), key.slice(at + 1)];
}

/** The declared document and the live object as text: side by side as one list of lines, marked where only one has them. */
const tabs = ['diff', 'desired', 'live'] as const;
type Tab = (typeof tabs)[number];
const titles: Readonly<Record<Tab, string>> = { diff: 'Diff', desired: 'Desired', live: 'Live' };

function Documents({ detail }: { readonly detail: ObjectDetail }) {
  const [tab, setTab] = useState<Tab>(detail.desired === undefined ? 'live' : 'desired');
  const desired = useMemo(() => textOf(detail.desired), [detail]);
  const live = useMemo(() => textOf(detail.live), [detail]);
  const lines = useMemo(() => diffLines(desired.split('\n'), live.split('\n')), [desired, live]);
  return (
    <section aria-label="Documents">
      <div class="actions" role="group" aria-label="Which document">
        {tabs.map((each) => (
          <button key={each} class="button" aria-pressed={tab === each} onClick={() => setTab(each)}>
            {titles[each]}
          </button>
        ))}
      </div>
      <pre class="document" tabIndex={0} aria-label={titles[tab]}>
        {tab === 'diff' ? <DiffLines lines={lines} /> : tab === 'desired' ? desired : live}
      </pre>
    </section>
  );
}

const textOf = (value: Readonly<Record<string, unknown>> | undefined): string =>
  value === undefined ? '(absent)' : valueText(value);
