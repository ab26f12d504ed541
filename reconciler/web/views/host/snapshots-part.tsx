// The snapshots of a container: take one, go back to one, delete one.
import { Card } from '../../parts/card.tsx';
import type { ContainerSnapshot } from '../../../controller/contract/index.ts';
import type { ContainerPlace } from '../../data/api.ts';
import { Icon } from '../../parts/icons.tsx';
import { Empty } from '../../parts/states.tsx';
import { Ago } from '../../parts/time.tsx';
import { ask } from '../questions/questions.tsx';

export interface SnapshotsPartProps {
  readonly container: ContainerPlace;
  readonly snapshots: readonly ContainerSnapshot[];
}

export function SnapshotsPart({ container, snapshots }: SnapshotsPartProps) {
  const newest = snapshots.toSorted((a, b) => (a.createdAt < b.createdAt ? 1 : -1));
  return (
    <Card
      id="snapshots-title"
      title="Snapshots"
      count={snapshots.length}
      more={
        <button class="button" onClick={() => ask({ kind: 'snapshot', container, action: 'take' })}>
          <Icon name="plus" /> Take a snapshot
        </button>
      }
    >
      {newest.length === 0 ? (
        <Empty title="No snapshots" />
      ) : (
        <ul class="needs">
          {newest.map(({ name, createdAt, description, isStateful }) => (
            <li key={name}>
              <span class="grow">
                <strong>{name}</strong>{' '}
                <span class="soft small">
                  <Ago at={createdAt} />
                  {isStateful && ', with memory'} {description}
                </span>
              </span>
              <button
                class="button"
                aria-label={`Restore ${name}`}
                onClick={() => ask({ kind: 'snapshot', container, action: 'restore', name })}
              >
                <Icon name="rollback" /> Restore
              </button>
              <button
                class="button"
                aria-label={`Delete ${name}`}
                onClick={() => ask({ kind: 'snapshot', container, action: 'delete', name })}
              >
                <Icon name="close" /> Delete
              </button>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}
