// One host: whether it answers, its labels, what each set has there, and its containers for those who may work with them.
import { Card, Columns } from '../../parts/card.tsx';
import type { HostWarning, SetStatus } from '../../../controller/contract/index.ts';
import { bytesText } from '../../data/figures.ts';
import { overview } from '../../data/store.ts';
import { Bones, Empty } from '../../parts/states.tsx';
import { Meter, StatusMark, WordMark } from '../../parts/status.tsx';
import { Ago } from '../../parts/time.tsx';
import { to } from '../../data/router.ts';
import { Revision } from '../../parts/revision.tsx';
import { countsOf } from './counts.ts';
import { undeclaredText } from './headline.ts';
import { ContainersCard } from '../host/containers-card.tsx';
import { labelsOf } from './hosts-card.tsx';

export function HostView({ name }: { readonly name: string }) {
  if (overview.value === undefined) return <Bones rows={6} label="Loading the host" />;
  const host = overview.value.hosts.find((each) => each.name === name);
  if (host === undefined) {
    return (
      <Empty isPage title={`There is no host ${name}`}>
        <a class="button" href="#/">
          To the overview
        </a>
      </Empty>
    );
  }
  const sets = overview.value.sets.filter((set) => set.hosts.some((each) => each.host === name));
  return (
    <>
      <header class="set-head">
        <div class="set-title">
          <p class="small">
            <a href="#/">Overview</a> <span class="soft">/ host</span>
          </p>
          <h1>
            {name} <WordMark word={host.status} />
          </h1>
          <p class="soft small">{labelsOf(host)}</p>
          {host.capacity !== undefined && (
            <p class="soft small">
              {host.capacity.cpus} processors, {bytesText(host.capacity.memoryUsedBytes)} of{' '}
              {bytesText(host.capacity.memoryBytes)} used
            </p>
          )}
          {host.message !== undefined && <p class="bad-text lines">{host.message}</p>}
        </div>
      </header>
      <Card id="host-sets" title="Sets on this host" count={sets.length}>
        {sets.length === 0 ? (
          <Empty title="No set names this host" />
        ) : (
          <table class="table stacks">
            <Columns names={['Status', 'Set', 'Objects', 'Revision', 'Last sync']} />
            <tbody>
              {sets.map((set) => (
                <SetRow key={set.name} set={set} host={name} />
              ))}
            </tbody>
          </table>
        )}
      </Card>
      {host.warnings !== undefined && host.warnings.length > 0 && <Warnings warnings={host.warnings} />}
      <ContainersCard key={name} host={name} />
    </>
  );
}

function Warnings({ warnings }: { readonly warnings: readonly HostWarning[] }) {
  return (
    <Card id="warnings-title" title="Warnings of the host" count={warnings.length}>
      <ul class="needs">
        {warnings.map(({ severity, message, about, count, lastSeenAt }) => (
          <li key={`${message} ${about}`}>
            <StatusMark status={severity === 'low' ? 'waiting' : 'drifted'} text={severity} />
            <span class="grow lines">
              {message}{' '}
              <span class="soft small">
                {about} {count > 1 && `${count} times, last`} <Ago at={lastSeenAt} />
              </span>
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function SetRow({ set, host }: { readonly set: SetStatus; readonly host: string }) {
  const here = set.hosts.find((each) => each.host === host);
  const counts = countsOf(set, host);
  return (
    <tr>
      <td class="narrow">
        <StatusMark status={here?.status ?? 'unknown'} />
      </td>
      <td>
        <a class="name" href={to(['sets', set.name], { host })}>
          {set.name}
        </a>
        {here?.error !== undefined && <div class="small bad-text lines">{here.error}</div>}
      </td>
      <td class="objects-cell">
        <Meter counts={counts} />
        <span class="soft small">
          {counts.synced.toLocaleString('en')} of {counts.total.toLocaleString('en')}
        </span>
        {counts.undeclared > 0 && <div class="soft small">{undeclaredText(counts)}</div>}
      </td>
      <td class="narrow">
        <Revision revision={here?.appliedRevision} />
      </td>
      <td class="narrow soft">{here?.lastSyncAt === undefined ? 'never' : <Ago at={here.lastSyncAt} />}</td>
    </tr>
  );
}
