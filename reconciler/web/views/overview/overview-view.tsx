// The first view: the overall status, what needs a person, then sets, hosts and sources.
import { Card, Columns } from '../../parts/card.tsx';
import type { Overview, SetStatus } from '../../../controller/contract/index.ts';
import { isOfOneHost } from '../../data/one-host.ts';
import { overview } from '../../data/store.ts';
import { Bones, Empty } from '../../parts/states.tsx';
import { statusNames } from '../../data/status-names.ts';
import { Meter, StatusMark } from '../../parts/status.tsx';
import { Ago } from '../../parts/time.tsx';
import { to } from '../../data/router.ts';
import { Revision } from '../../parts/revision.tsx';
import { countsOf } from './counts.ts';
import { headline, undeclaredText } from './headline.ts';
import { ContainersCard } from '../host/containers-card.tsx';
import { HostsCard } from './hosts-card.tsx';
import { NeedsCard } from './needs-card.tsx';
import { needsOf } from './needs.ts';
import { SourcesCard } from './sources-card.tsx';

export function OverviewView() {
  const now = overview.value;
  if (now === undefined) return <Bones rows={8} label="Loading the overview" />;
  return (
    <>
      <Summary now={now} />
      <NeedsCard needs={needsOf(now)} />
      <SetsCard sets={now.sets} />
      {now.hosts.length === 1 && <ContainersCard host={now.hosts[0]?.name ?? ''} />}
      <HostsCard hosts={now.hosts} />
      {!now.sets.some(isOfOneHost) && <SourcesCard sources={now.sources} />}
    </>
  );
}

function Summary({ now }: { readonly now: Overview }) {
  const counts = statusNames
    .map((status) => ({ status, count: now.sets.filter((set) => set.status === status).length }))
    .filter(({ count }) => count > 0);
  const offline = now.hosts.filter(({ status }) => status === 'offline').length;
  return (
    <header class="summary">
      <h1>{headline(now.sets, now.hosts)}</h1>
      <div class="marks">
        {counts.map(({ status, count }) => (
          <StatusMark key={status} status={status} text={`${count} ${status}`} />
        ))}
        {offline > 0 && <StatusMark status="failed" text={`${offline} of ${now.hosts.length} hosts offline`} />}
      </div>
      <p class="soft small">
        Gantry {now.controller.version}, running since <Ago at={now.controller.startedAt} />
      </p>
    </header>
  );
}

function SetsCard({ sets }: { readonly sets: readonly SetStatus[] }) {
  return (
    <Card id="sets-title" title="Sets" count={sets.length}>
      {sets.length === 0 ? (
        <Empty title="No sets">
          <p>Declare one below `sets` in gantry.yaml.</p>
        </Empty>
      ) : (
        <table class="table stacks">
          <Columns names={['Status', 'Set', 'Objects', 'Hosts', 'Revision', 'Last sync']} />
          <tbody>
            {sets.map((set) => (
              <SetRow key={set.name} set={set} />
            ))}
          </tbody>
        </table>
      )}
    </Card>
  );
}

function SetRow({ set }: { readonly set: SetStatus }) {
  const counts = countsOf(set);
  const last = set.hosts.map(({ lastSyncAt }) => lastSyncAt ?? '').reduce((a, b) => (a > b ? a : b), '');
  return (
    <tr>
      <td class="narrow">
        <StatusMark status={set.status} />
      </td>
      <td>
        <a class="name" href={to(['sets', set.name])}>
          {set.name}
        </a>
        {set.mode !== 'heal' && <span class="soft small"> · {set.mode} only</span>}
        {set.message !== undefined && <div class="soft small">{set.message}</div>}
      </td>
      <td class="objects-cell">
        <Meter counts={counts} />
        <span class="soft small">
          {counts.synced.toLocaleString('en')} of {counts.total.toLocaleString('en')}
        </span>
        {counts.undeclared > 0 && <div class="soft small">{undeclaredText(counts)}</div>}
      </td>
      <td class="narrow">{set.hosts.length === 1 ? '1 host' : `${set.hosts.length} hosts`}</td>
      <td class="narrow">
        <Revision revision={set.revision} />
      </td>
      <td class="narrow soft">{last === '' ? 'never' : <Ago at={last} />}</td>
    </tr>
  );
}
