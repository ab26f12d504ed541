// The objects of a set as a graph: which host, what the colours mean, the drawing.
import type { SetStatus } from '../../../controller/http/contract.ts';
import { objects, readObjects } from '../../data/objects.ts';
import { GraphCanvas } from '../../graph/graph-canvas.tsx';
import { Bones, Empty, Trouble } from '../../parts/states.tsx';
import { StatusMark, statusNames } from '../../parts/status.tsx';
import { place, refine } from '../../shell/router.ts';
import { Choice } from './filters.tsx';

/** Sets up to this size show all hosts at first. */
const smallSet = 300;
const everyHost = '*';

export function GraphPart({ set }: { readonly set: SetStatus }) {
  const { entries, isLoading, error, shape } = objects.value;
  if (error !== undefined && entries.length === 0) {
    return <Trouble title="The objects could not be read" message={error} again={() => void readObjects(set.name)} />;
  }
  if (isLoading && entries.length === 0) return <Bones rows={10} label="Loading objects" />;
  if (entries.length === 0) return <Empty title="The set declares nothing yet" />;
  const first = entries.length <= smallSet ? everyHost : (set.hosts[0]?.host ?? everyHost);
  const host = place.value.query['host'] ?? first;
  return (
    <section class="card fill graph-card" aria-label="Graph">
      <div class="pad list-tools">
        <Choice
          label="Host"
          value={host}
          options={[
            { value: everyHost, text: 'all hosts' },
            ...set.hosts.map((each) => ({ value: each.host, text: each.host })),
          ]}
          choose={(next) => refine({ host: next })}
        />
        <p class="legend small">
          <span class="soft">Left square: desired, right square: live.</span>
          {statusNames.map((status) => (
            <StatusMark key={status} status={status} />
          ))}
        </p>
      </div>
      <GraphCanvas
        entries={entries}
        shape={shape}
        host={host === everyHost ? '' : host}
        chosenKey={place.value.query['object']}
        open={(key) => refine({ object: key })}
      />
    </section>
  );
}
