// The objects of a set as a list, which may have ten thousand rows that are filtered and searched while events change them.
import { useMemo } from 'preact/hooks';
import type { SetStatus } from '../../../controller/contract/index.ts';
import type { Entry } from '../../data/entry.ts';
import { objects, readObjects } from '../../data/objects.ts';
import { Bones, Empty, Trouble } from '../../parts/states.tsx';
import { StatusMark } from '../../parts/status.tsx';
import { VirtualList } from '../../parts/virtual-list.tsx';
import { place, refine } from '../../data/router.ts';
import { countStatuses, filtered, Filters, presentFilter } from './filters.tsx';

const rowHeight = 40;

export function ObjectsPart({ set }: { readonly set: SetStatus }) {
  const { entries, isLoading, error, shape } = objects.value;
  const filter = presentFilter();
  const kinds = useMemo(() => [...new Set(entries.map(({ object }) => object.kind))].sort(), [shape]);
  const shown = useMemo(
    () => filtered(entries, filter),
    [entries, filter.search, filter.status, filter.host, filter.kind],
  );
  const counts = useMemo(() => countStatuses(entries), [entries]);
  if (error !== undefined && entries.length === 0) {
    return <Trouble title="The objects could not be read" message={error} again={() => void readObjects(set.name)} />;
  }
  if (isLoading && entries.length === 0) return <Bones rows={10} label="Loading objects" />;
  return (
    <section class="card fill list-card" aria-label="Objects">
      <div class="pad list-tools">
        <Filters set={set} filter={filter} counts={counts} kinds={kinds} />
        <p class="soft small" role="status">
          {shown.length === entries.length
            ? `${entries.length.toLocaleString('en')} objects`
            : `${shown.length.toLocaleString('en')} of ${entries.length.toLocaleString('en')} objects`}
        </p>
      </div>
      {shown.length === 0 ? (
        <Empty title={entries.length === 0 ? 'The set declares nothing yet' : 'No object matches'}>
          {entries.length > 0 && (
            <button class="button" onClick={() => refine({ search: '', status: '', host: '', kind: '' })}>
              Clear the filter
            </button>
          )}
        </Empty>
      ) : (
        <VirtualList
          items={shown}
          label="Objects"
          rowHeight={rowHeight}
          keyOf={keyOf}
          row={ObjectRow}
          chosen={place.value.query['object']}
          choose={(key) => refine({ object: key })}
        />
      )}
    </section>
  );
}

const keyOf = (entry: Entry): string => entry.key;

function ObjectRow({ object }: Entry) {
  return (
    <>
      <StatusMark status={object.status} />
      <span class="object-name">
        <span class="soft">{object.kind}/</span>
        {object.name}
        {object.project !== undefined && <span class="soft">@{object.project}</span>}
      </span>
      <span class="object-message soft small">{object.message}</span>
      <span class="object-host soft small">{object.host}</span>
    </>
  );
}
