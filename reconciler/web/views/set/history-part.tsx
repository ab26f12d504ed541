// The runs of a set, newest first, with author, time, reason and a button to roll back.
import type { RunRecord } from '../../../controller/contract/index.ts';
import { api } from '../../data/api.ts';
import { may, runsSeen, setOf } from '../../data/store.ts';
import { Icon } from '../../parts/icons.tsx';
import { useLoad } from '../../parts/load.ts';
import { Bones, Empty, Trouble } from '../../parts/states.tsx';
import { WordMark } from '../../parts/status.tsx';
import { Ago, tookText } from '../../parts/time.tsx';
import { ChangeText } from '../../parts/change-text.tsx';
import { Revision, shortRevision } from '../../parts/revision.tsx';
import { ask } from '../questions/questions.tsx';

export function HistoryPart({ set }: { readonly set: string }) {
  const { data, error, again } = useLoad((signal) => api.history(set, signal), [set, runsSeen.value]);
  if (data === undefined) {
    if (error === undefined) return <Bones label="Loading the history" />;
    return <Trouble title="The history could not be read" message={error} again={again} />;
  }
  if (data.length === 0) return <Empty title="No run yet" />;
  const back = rollbackRuns(data, setOf(set)?.revision);
  return (
    <section class="card" aria-label="History">
      <ol class="runs">
        {data.map((run) => (
          <li key={run.id} class="run">
            <WordMark word={run.outcome} />
            <div class="grow">
              <p>
                <Revision revision={run.revision} /> <strong>{run.reason}</strong> <span class="soft">by {run.by}</span>
              </p>
              <p class="soft small">
                <ChangeText {...run.changes} isDone={run.outcome !== 'running'} /> on{' '}
                {run.hosts.length === 1 ? run.hosts[0] : `${run.hosts.length} hosts`}
                {run.previousRevision !== undefined && run.previousRevision !== run.revision && (
                  <>
                    , before: <Revision revision={run.previousRevision} />
                  </>
                )}
                {run.endedAt !== undefined && `, took ${tookText(run.at, run.endedAt)}`}
                {run.since !== undefined && (
                  <>
                    , failed {run.tries} times since <Ago at={run.since} />
                  </>
                )}
              </p>
              {run.message !== undefined && <p class={`small lines ${toneOf(run.outcome)}`}>{run.message}</p>}
            </div>
            <span class="soft small">
              <Ago at={run.at} />
            </span>
            {may('rollback', set) && back.has(run.id) && (
              <button
                class="button"
                aria-label={`Roll back to ${shortRevision(run.revision)}`}
                onClick={() => ask({ kind: 'rollback', set, revision: run.revision })}
              >
                <Icon name="rollback" /> Roll back
              </button>
            )}
          </li>
        ))}
      </ol>
    </section>
  );
}

/** The newest run of each revision that the set can go back to. */
function rollbackRuns(runs: readonly RunRecord[], current: string | undefined): ReadonlySet<string> {
  const newest = new Map<string, string>();
  for (const { id, revision, isKept } of runs)
    if (isKept === true && revision !== current && !newest.has(revision)) newest.set(revision, id);
  return new Set(newest.values());
}

/** Red only when a person must act. */
const toneOf = (outcome: RunRecord['outcome']): string =>
  outcome === 'failed' ? 'bad-text' : outcome === 'partial' ? 'warn-text' : 'soft';
