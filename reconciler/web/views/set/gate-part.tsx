// What a set would delete beyond its limit, with the button that approves it.
import type { PruneGate } from '../../../controller/contract/index.ts';
import { may } from '../../data/store.ts';
import { Revision } from '../../parts/revision.tsx';
import { ask } from '../questions/questions.tsx';

export function GatePart({ set, gate }: { readonly set: string; readonly gate: PruneGate }) {
  const count = gate.hosts.reduce((sum, one) => sum + one.count, 0);
  return (
    <section class="gate whole" aria-label="Deletion to approve">
      <div class="grow">
        <p>
          <Revision revision={gate.revision} /> no longer declares {count} objects, more than may be deleted at once.
          They stay until somebody approves it.
        </p>
        <details>
          <summary>
            {count} objects on {gate.hosts.length === 1 ? gate.hosts[0]?.host : `${gate.hosts.length} hosts`}
          </summary>
          <ul>
            {gate.hosts.map(({ host, count: own, objects }) => (
              <li key={host} class="lines">
                {host}: {objects.join(', ')}
                {own > objects.length && ` and ${own - objects.length} more`}
              </li>
            ))}
          </ul>
        </details>
      </div>
      {may('approve', set) && (
        <button class="button" onClick={() => ask({ kind: 'prune', set, gate })}>
          Approve deletion
        </button>
      )}
    </section>
  );
}
