// Search and filters of objects, stored in the address of the page, so that a link shows the same.
import type { ComponentChildren } from 'preact';
import type { ObjectStatusName, SetStatus } from '../../../controller/contract/index.ts';
import type { Entry } from '../../data/entry.ts';
import { statusNames } from '../../data/status-names.ts';
import { place, refine } from '../../data/router.ts';
import { Choice } from '../../parts/choice.tsx';

export interface Filter {
  readonly search: string;
  readonly status: string;
  readonly host: string;
  readonly kind: string;
}

export function presentFilter(): Filter {
  const { search = '', status = '', host = '', kind = '' } = place.value.query;
  // Links of older pages have * for all hosts.
  return { search, status, host: host === '*' ? '' : host, kind };
}

/** Entries that match: every word of the search must occur. */
export function filtered(entries: readonly Entry[], filter: Filter): readonly Entry[] {
  const words = filter.search.toLowerCase().split(/\s+/).filter(Boolean);
  const { status, host, kind } = filter;
  if (words.length === 0 && status === '' && host === '' && kind === '') return entries;
  return entries.filter(
    ({ object, text }) =>
      (status === '' || object.status === status) &&
      (host === '' || object.host === host) &&
      (kind === '' || object.kind === kind) &&
      words.every((word) => text.includes(word)),
  );
}

export function countStatuses(entries: readonly Entry[]): ReadonlyMap<ObjectStatusName, number> {
  const counts = new Map<ObjectStatusName, number>();
  for (const { object } of entries) counts.set(object.status, (counts.get(object.status) ?? 0) + 1);
  return counts;
}

export interface FiltersProps {
  readonly set: SetStatus;
  readonly filter: Filter;
  readonly counts: ReadonlyMap<ObjectStatusName, number>;
  readonly kinds: readonly string[];
  /** Further filters. */
  readonly children?: ComponentChildren;
}

export function Filters({ set, filter, counts, kinds, children }: FiltersProps) {
  return (
    <search class="filters" aria-label="Filter of objects">
      <label class="field grow">
        <span class="hidden">Search objects</span>
        <input
          class="input"
          type="search"
          placeholder="Search names, hosts, messages   /"
          value={filter.search}
          onInput={(event) => refine({ search: event.currentTarget.value })}
        />
      </label>
      <Choice
        label="Status"
        value={filter.status}
        all="any status"
        options={statusNames.map((status) => ({ value: status, text: `${status} (${counts.get(status) ?? 0})` }))}
        choose={(status) => refine({ status })}
      />
      <Choice
        label="Kind"
        value={filter.kind}
        all="any kind"
        options={kinds.map((kind) => ({ value: kind, text: kind }))}
        choose={(kind) => refine({ kind })}
      />
      <Choice
        label="Host"
        value={filter.host}
        all="all hosts"
        options={set.hosts.map(({ host }) => ({ value: host, text: host }))}
        choose={(host) => refine({ host })}
      />
      {children}
    </search>
  );
}
