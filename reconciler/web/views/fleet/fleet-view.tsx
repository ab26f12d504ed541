// All hosts in groups by a label, the worst first, with the sets and the usage of each.
import { useMemo } from 'preact/hooks';
import { bytesText } from '../../data/figures.ts';
import { place, refine, to } from '../../data/router.ts';
import { overview } from '../../data/store.ts';
import { Choice } from '../../parts/choice.tsx';
import { Bones, Empty } from '../../parts/states.tsx';
import { Meter, StatusMark } from '../../parts/status.tsx';
import { fleetOf, groupsOf, labelKeys, type FleetGroup, type FleetHost } from './groups.ts';

const maxShown = 200;
const maxSets = 6;

export function FleetView() {
  const now = overview.value;
  const { by = '', search = '' } = place.value.query;
  const groups = useMemo(
    () => (now === undefined ? [] : groupsOf(fleetOf(now, search), by)),
    [now?.hosts, now?.sets, search, by],
  );
  if (now === undefined) return <Bones rows={8} label="Loading the fleet" />;
  return (
    <>
      <header class="view-head">
        <h1>Fleet</h1>
        <search class="filters" aria-label="Filter of hosts">
          <label class="field grow">
            <span class="hidden">Search hosts</span>
            <input
              class="input"
              type="search"
              placeholder="Names, labels, sets   /"
              value={search}
              onInput={(event) => refine({ search: event.currentTarget.value })}
            />
          </label>
          <Choice
            label="Groups"
            value={by}
            all="one group"
            options={labelKeys(now).map((key) => ({ value: key, text: `by ${key}` }))}
            choose={(next) => refine({ by: next })}
          />
        </search>
      </header>
      {groups.length === 0 && <Empty title={now.hosts.length === 0 ? 'No hosts' : 'No host matches'} />}
      {groups.map((group) => (
        <Group key={group.value ?? ''} group={group} label={by} />
      ))}
    </>
  );
}

function Group({ group: { value, hosts, total }, label }: { readonly group: FleetGroup; readonly label: string }) {
  const title = label === '' ? 'All hosts' : value === undefined ? `without ${label}` : `${label}=${value}`;
  const used = total.memoryBytes === 0 ? undefined : total.memoryUsedBytes / total.memoryBytes;
  return (
    <section class="card" aria-label={title}>
      <header>
        <h2>{title}</h2>
        <span class="soft small">
          {total.hosts === 1 ? '1 host' : `${total.hosts.toLocaleString('en')} hosts`},{' '}
          {total.objects.toLocaleString('en')} objects
          {total.cpus > 0 && `, ${total.cpus} processors`}
          {used !== undefined && `, ${Math.round(used * 100)} % of ${bytesText(total.memoryBytes)} used`}
        </span>
        {total.offline > 0 && <StatusMark status="failed" text={`${total.offline} offline`} />}
      </header>
      <ul class="tiles">
        {hosts.slice(0, maxShown).map((one) => (
          <Tile key={one.host.name} one={one} />
        ))}
      </ul>
      {hosts.length > maxShown && (
        <p class="pad soft small">and {hosts.length - maxShown} more, which are better: search for them</p>
      )}
    </section>
  );
}

function Tile({ one: { host, status, sets, counts } }: { readonly one: FleetHost }) {
  const { capacity, warnings = [] } = host;
  return (
    <li class="tile">
      <div class="tile-head">
        <a class="name" href={to(['hosts', host.name])}>
          {host.name}
        </a>
        <StatusMark status={status} {...(host.status === 'offline' && { text: 'offline' })} />
      </div>
      {counts.total > 0 && <Meter counts={counts} />}
      <p class="small tile-sets">
        {sets.slice(0, maxSets).map(({ name }) => (
          <a key={name} href={to(['sets', name], { host: host.name })}>
            {name}
          </a>
        ))}
        {sets.length > maxSets && <span class="soft">and {sets.length - maxSets} more</span>}
        {sets.length === 0 && <span class="soft">no sets</span>}
      </p>
      {capacity !== undefined && (
        <p class="soft small">
          {capacity.cpus} processors, {bytesText(capacity.memoryUsedBytes)} of {bytesText(capacity.memoryBytes)}
        </p>
      )}
      {warnings.length > 0 && (
        <p class="small warn-text">{warnings.length === 1 ? warnings[0]?.message : `${warnings.length} warnings`}</p>
      )}
    </li>
  );
}
