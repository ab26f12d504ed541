// The objects of a set as a graph, with filters, grouping and a legend.
import { useMemo } from 'preact/hooks';
import type { SetStatus } from '../../../controller/contract/index.ts';
import { objects, readObjects } from '../../data/objects.ts';
import { statusNames } from '../../data/status-names.ts';
import { GraphCanvas, type ShownGraph } from '../../graph/graph-canvas.tsx';
import { graphOf, groupingFor, groupings, isObject, worstMember, type Grouping } from '../../graph/model.ts';
import { Choice } from '../../parts/choice.tsx';
import { usePace } from '../../parts/pace.ts';
import { Bones, Empty, Trouble } from '../../parts/states.tsx';
import { StatusMark } from '../../parts/status.tsx';
import { place, refine } from '../../data/router.ts';
import { countStatuses, filtered, Filters, presentFilter } from './filters.tsx';

/** Making a graph of 20,000 objects takes a tenth of a second and more. */
const paceMs = 1000;

const groupingTexts: Readonly<Record<Grouping, string>> = {
  object: 'objects',
  lane: 'objects in lanes by host',
  name: 'names',
  kind: 'kinds',
  host: 'hosts',
  status: 'statuses',
};

export function GraphPart({ set }: { readonly set: SetStatus }) {
  const { entries, isLoading, error, shape } = objects.value;
  const filter = presentFilter();
  const { search, status, host, kind } = filter;
  const wanted = groupings.find((each) => each === place.value.query['group']);
  const view = JSON.stringify([filter, wanted]);
  // Each change of a status changes the nodes when they are filtered or grouped by status.
  const hasNewNodes = status !== '' || wanted === 'status' || (wanted === undefined && kind !== '' && host !== '');
  const beat = usePace(entries, paceMs);
  const shown = useMemo(() => filtered(entries, filter), [shape, view, hasNewNodes ? beat : undefined]);
  const graph = useMemo(() => {
    const narrowed = new Set(Object.entries({ kind, host, status }).flatMap(([key, value]) => (value ? key : [])));
    const keys = new Set(shown.map(({ key }) => key));
    return graphOf(entries, ({ key }) => keys.has(key), wanted ?? groupingFor(shown, narrowed));
  }, [shown, view]);
  const kinds = useMemo(() => [...new Set(entries.map(({ object }) => object.kind))].sort(), [shape]);
  const counts = useMemo(() => countStatuses(entries), [entries]);
  if (error !== undefined && entries.length === 0) {
    return <Trouble title="The objects could not be read" message={error} again={() => void readObjects(set.name)} />;
  }
  if (isLoading && entries.length === 0) return <Bones rows={10} label="Loading objects" />;
  if (entries.length === 0) return <Empty title="The set declares nothing yet" />;
  return (
    <section class="card fill graph-card" aria-label="Graph">
      <div class="pad list-tools">
        <Filters set={set} filter={filter} counts={counts} kinds={kinds}>
          <Choice
            label="Nodes"
            value={wanted ?? ''}
            all={`nodes: ${groupingTexts[graph.grouping]}`}
            options={groupings.map((each) => ({ value: each, text: `always ${groupingTexts[each]}` }))}
            choose={(group) => refine({ group })}
          />
        </Filters>
        <p class="legend small">
          <span class="soft">Left square: desired, right square: live.</span>
          {statusNames.map((each) => (
            <StatusMark key={each} status={each} />
          ))}
        </p>
      </div>
      {graph.keys.length === 0 ? (
        <Empty title="No object matches">
          <button
            class="button"
            onClick={() => refine({ search: '', status: '', host: '', kind: '' })}
            aria-label={`Clear the filter ${search}`.trim()}
          >
            Clear the filter
          </button>
        </Empty>
      ) : (
        <GraphCanvas graph={graph} entries={entries} view={view} chosenKey={place.value.query['object']} open={open} />
      )}
    </section>
  );
}

/** Shows an object beside the graph; a group becomes the filter, so that the graph shows its objects. */
function open({ graph, entries }: ShownGraph, id: number): void {
  const { grouping } = graph;
  if (isObject(grouping)) {
    refine({ object: worstMember(graph, entries, id)?.key });
    return;
  }
  refine({ [grouping]: graph.keys[id], group: '' });
}
