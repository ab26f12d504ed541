// Running operations with the progress of each host, and those that ended recently.
import type { Operation } from '../../../controller/contract/index.ts';
import { operations } from '../../data/store.ts';
import { folded, type Fold } from '../../parts/fold.ts';
import { Empty } from '../../parts/states.tsx';
import { WordMark } from '../../parts/status.tsx';
import { Ago, tookText } from '../../parts/time.tsx';
import { to } from '../../data/router.ts';
import { Revision } from '../../parts/revision.tsx';

const maxShown = 60;

export function OperationsView() {
  const all = operations.value;
  const atWork = all.filter(({ status }) => status === 'running' || status === 'waiting');
  const ended = all.filter((operation) => !atWork.includes(operation));
  return (
    <>
      <h1>Operations</h1>
      {all.length === 0 && <Empty title="Nothing was done yet" />}
      {atWork.length > 0 && <List title="At work" list={atWork} />}
      {ended.length > 0 && <List title="Ended" list={ended} />}
    </>
  );
}

function List({ title, list }: { readonly title: string; readonly list: readonly Operation[] }) {
  return (
    <section class="card" aria-label={title}>
      <header>
        <h2>{title}</h2>
        <span class="soft">{Math.min(list.length, maxShown)}</span>
      </header>
      <ul class="runs">
        {folded(list, areTriesOfOne)
          .slice(0, maxShown)
          .map((fold) => (
            <li key={fold.first.id}>
              <OperationRow fold={fold} />
            </li>
          ))}
      </ul>
    </section>
  );
}

const areTriesOfOne = (one: Operation, next: Operation): boolean =>
  one.status === 'failed' &&
  next.status === 'failed' &&
  one.set === next.set &&
  one.revision === next.revision &&
  one.message === next.message;

function OperationRow({ fold: { first, last, times } }: { readonly fold: Fold<Operation> }) {
  const { set, kind, status, startedAt, endedAt, revision, by, message, hosts } = first;
  const steps = { total: 0, done: 0, failed: 0 };
  for (const host of hosts) {
    steps.total += host.steps.total;
    steps.done += host.steps.done;
    steps.failed += host.steps.failed;
  }
  const isAtWork = status === 'running' || status === 'waiting';
  return (
    <details class="operation" open={isAtWork}>
      <summary>
        <WordMark word={status} />
        <span class="grow">
          <strong>{kind}</strong> of <strong>{set}</strong> <Revision revision={revision} />{' '}
          <span class="soft">by {by}</span>
        </span>
        <span class="soft small">
          <Ago at={startedAt} />, {isAtWork ? 'running for' : 'took'} {tookText(startedAt, endedAt)}
          {times > 1 && (
            <>
              , failed {times} times since <Ago at={last.startedAt} />
            </>
          )}
        </span>
        {isAtWork && <Progress label={`Progress of ${kind} of ${set}`} {...steps} />}
      </summary>
      <p class="lines small">
        {message} <a href={to(['sets', set])}>Open the set</a>
      </p>
      <ul class="hosts-progress">
        {hosts.map((host) => (
          <li key={host.host}>
            <span class="name">{host.host}</span>
            <WordMark word={host.status} />
            <span class="soft small">
              {host.steps.done} of {host.steps.total} steps
              {host.steps.failed > 0 && `, ${host.steps.failed} failed`}
            </span>
            <span class="small mono whole">{host.current.join('  ')}</span>
            {host.message !== undefined && <span class="small bad-text whole lines">{host.message}</span>}
          </li>
        ))}
      </ul>
    </details>
  );
}

interface ProgressProps {
  readonly label: string;
  readonly total: number;
  readonly done: number;
  readonly failed: number;
}

function Progress({ label, total, done, failed }: ProgressProps) {
  return (
    <span class="progress">
      <progress aria-label={label} value={done + failed} max={Math.max(1, total)} />
      <span class="small soft">
        {done + failed} of {total}
      </span>
    </span>
  );
}
