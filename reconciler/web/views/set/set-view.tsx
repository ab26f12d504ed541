// The page of one set: its status and actions at the top, one of its parts below, the chosen object at the side.
import { useEffect } from 'preact/hooks';
import type { SetStatus } from '../../../controller/contract/index.ts';
import { readObjects } from '../../data/objects.ts';
import { isOfOneHost } from '../../data/one-host.ts';
import { may, overview, setOf } from '../../data/store.ts';
import { Icon } from '../../parts/icons.tsx';
import { Bones, Empty } from '../../parts/states.tsx';
import { StatusMark } from '../../parts/status.tsx';
import { Ago, exactText } from '../../parts/time.tsx';
import { place, to } from '../../data/router.ts';
import { ObjectDrawer } from '../object/object-drawer.tsx';
import { Revision } from '../../parts/revision.tsx';
import { DriftList } from '../plain/drift-list.tsx';
import { Gates } from './gate-part.tsx';
import { GraphPart } from './graph-part.tsx';
import { HistoryPart } from './history-part.tsx';
import { ObjectsPart } from './objects-part.tsx';
import { PreviewPart } from './preview-part.tsx';
import { ask } from '../questions/questions.tsx';

const parts = [
  { part: undefined, title: 'Objects' },
  { part: 'graph', title: 'Graph' },
  { part: 'drift', title: 'Drift' },
  { part: 'history', title: 'History' },
  { part: 'preview', title: 'Preview' },
] as const;

/** Runs and previews are those of a controller. */
const partsOf = (set: SetStatus) =>
  isOfOneHost(set) ? parts.filter(({ part }) => part !== 'history' && part !== 'preview') : parts;

export function SetView({ name, part }: { readonly name: string; readonly part: string | undefined }) {
  useEffect(() => void readObjects(name), [name]);
  const set = setOf(name);
  if (overview.value === undefined) return <Bones rows={8} label="Loading the set" />;
  if (set === undefined) {
    return (
      <Empty isPage title={`There is no set ${name}`}>
        <a class="button" href="#/">
          To the overview
        </a>
      </Empty>
    );
  }
  return (
    <>
      <Head set={set} />
      <nav class="tabs" aria-label="Parts of the set">
        {partsOf(set).map((each) => (
          <a
            key={each.title}
            href={to(each.part === undefined ? ['sets', name] : ['sets', name, each.part])}
            aria-current={each.part === part ? 'page' : undefined}
          >
            {each.title}
          </a>
        ))}
      </nav>
      <Part set={set} part={part} />
      {place.value.query['object'] !== undefined && (
        <ObjectDrawer key={place.value.query['object']} set={name} objectKey={place.value.query['object']} />
      )}
    </>
  );
}

function Part({ set, part }: { readonly set: SetStatus; readonly part: string | undefined }) {
  switch (part) {
    case undefined:
      return <ObjectsPart set={set} />;
    case 'graph':
      return <GraphPart set={set} />;
    case 'drift':
      return <DriftList key={set.name} sets={[set.name]} />;
    case 'history':
      return <HistoryPart set={set.name} />;
    case 'preview':
      return <PreviewPart set={set.name} />;
    default:
      return <Empty title="The set has no such part" />;
  }
}

function Head({ set }: { readonly set: SetStatus }) {
  return (
    <header class="set-head">
      <div class="set-title">
        <p class="small">
          <a href="#/">Overview</a> <span class="soft">/ set</span>
        </p>
        <h1>
          {set.name} <StatusMark status={set.status} />
        </h1>
        {set.message !== undefined && !isShownBelow(set, set.message) && <p>{set.message}</p>}
        <p class="soft small facts">
          {!isOfOneHost(set) && (
            <>
              <span>
                source {set.source} {set.path}
              </span>
              <span>
                revision <Revision revision={set.revision} />
              </span>
            </>
          )}
          <span>{set.mode === 'heal' ? 'heals drift' : set.mode === 'report' ? 'reports drift' : 'ignores drift'}</span>
          {set.dependsOn.length > 0 && (
            <span>
              after{' '}
              {set.dependsOn.map((name) => (
                <a key={name} href={to(['sets', name])}>
                  {name}{' '}
                </a>
              ))}
            </span>
          )}
          {set.nextWindow !== undefined && <span>changes from {exactText(set.nextWindow)}</span>}
        </p>
      </div>
      <Actions set={set} />
      <Problems set={set} />
      <Gates set={set} />
      <Suspensions set={set} />
    </header>
  );
}

function Actions({ set }: { readonly set: SetStatus }) {
  if (!may('sync', set.name) && !may('suspend', set.name)) return null;
  const isWhole = set.suspensions.some(({ address }) => address === undefined);
  return (
    <div class="actions">
      {may('sync', set.name) && (
        <button class="button main-action" onClick={() => ask({ kind: 'sync', set: set.name })}>
          <Icon name="syncing" /> Sync
        </button>
      )}
      {!isWhole && may('suspend', set.name) && (
        <button class="button" onClick={() => ask({ kind: 'suspend', set: set.name })}>
          <Icon name="suspended" /> Suspend
        </button>
      )}
      {set.suspensions.length > 0 && may('suspend', set.name) && (
        <button class="button" onClick={() => ask({ kind: 'resume', set: set.name, what: set.name })}>
          <Icon name="resume" /> Resume all
        </button>
      )}
    </div>
  );
}

function Problems({ set }: { readonly set: SetStatus }) {
  const failing = set.hosts.filter(
    ({ status, error }) =>
      error !== undefined && (status === 'failed' || status === 'unknown') && !isShownBelow(set, error),
  );
  if (set.problems.length === 0 && failing.length === 0) return null;
  return (
    <div class="problem whole" role="status">
      {set.problems.length > 0 && (
        <p>The newest manifests have errors and are not applied; the last good revision stays.</p>
      )}
      <ul>
        {set.problems.slice(0, 20).map((problem) => (
          <li key={problem} class="mono lines">
            {problem}
          </li>
        ))}
      </ul>
      {failing.length > 0 && (
        <details>
          <summary>
            {failing.length === 1 ? `1 host failed: ${failing[0]?.host}` : `${failing.length} hosts failed`}
          </summary>
          <ul>
            {failing.slice(0, 20).map(({ host, error }) => (
              <li key={host} class="lines">
                <a href={to(['hosts', host])}>{host}</a>: {error}
              </li>
            ))}
            {failing.length > 20 && <li>and {failing.length - 20} more hosts</li>}
          </ul>
        </details>
      )}
    </div>
  );
}

/** The list of suspensions below shows the same, with author and end, or the gate does, with the objects. */
const isShownBelow = ({ suspensions, status, pruneGate, approvalGate }: SetStatus, text: string): boolean =>
  suspensions.some(({ reason }) => text === reason) ||
  (status === 'waiting' && (pruneGate ?? approvalGate) !== undefined);

function Suspensions({ set }: { readonly set: SetStatus }) {
  if (set.suspensions.length === 0) return null;
  return (
    <ul class="suspensions whole">
      {set.suspensions.map(({ id, host, address, path, reason, by, until }) => {
        const what = path === undefined ? (address ?? set.name) : `${path} of ${address}`;
        return (
          <li key={id}>
            <StatusMark status="suspended" />
            <span class="grow">
              <strong>{what}</strong>
              {host !== undefined && ` on ${host}`}: {reason}{' '}
              <span class="soft">
                by {by}
                {until === undefined ? ', until it is resumed' : ', ends '}
                {until !== undefined && <Ago at={until} />}
              </span>
            </span>
            {may('suspend', set.name) && (
              <button
                class="button"
                aria-label={`Resume ${what}`}
                onClick={() => ask({ kind: 'resume', set: set.name, id, what })}
              >
                Resume
              </button>
            )}
          </li>
        );
      })}
    </ul>
  );
}
