// What waits for an approval in a set: deletions beyond its limit, or a plan that needs a second person.
import { countOf } from '../../data/figures.ts';
import type { ComponentChildren } from 'preact';
import type { SetStatus } from '../../../controller/contract/index.ts';
import { may } from '../../data/store.ts';
import { Revision } from '../../parts/revision.tsx';
import { ask } from '../questions/questions.tsx';

interface Gated {
  readonly host: string;
  readonly count: number;
  readonly items: readonly string[];
}

export function Gates({ set: { name: set, pruneGate, approvalGate } }: { readonly set: SetStatus }) {
  return (
    <>
      {pruneGate !== undefined && (
        <GatePart
          label="Deletion to approve"
          set={set}
          hosts={pruneGate.hosts.map(({ objects, ...one }) => ({ ...one, items: objects }))}
          noun="objects"
          verb="Approve deletion"
          openDialog={() => ask({ kind: 'prune', set, gate: pruneGate })}
        >
          <Revision revision={pruneGate.revision} /> no longer declares {countOf(pruneGate.hosts)} objects, more than
          may be deleted at once. They stay until somebody approves it.
        </GatePart>
      )}
      {approvalGate !== undefined && (
        <GatePart
          label="Plan to approve"
          set={set}
          hosts={approvalGate.hosts.map(({ steps, ...one }) => ({ ...one, items: steps }))}
          noun="steps"
          verb="Approve the plan"
          openDialog={() => ask({ kind: 'approve', set, gate: approvalGate })}
        >
          The plan of <Revision revision={approvalGate.revision} /> waits until a second person approves its{' '}
          {countOf(approvalGate.hosts)} steps.
        </GatePart>
      )}
    </>
  );
}

interface GatePartProps {
  readonly label: string;
  readonly set: string;
  readonly hosts: readonly Gated[];
  readonly noun: string;
  readonly verb: string;
  readonly openDialog: () => void;
  readonly children: ComponentChildren;
}

function GatePart({ label, set, hosts, noun, verb, openDialog, children }: GatePartProps) {
  return (
    <section class="gate whole" aria-label={label}>
      <div class="grow">
        <p>{children}</p>
        <details>
          <summary>
            {countOf(hosts)} {noun} on {hosts.length === 1 ? hosts[0]?.host : `${hosts.length} hosts`}
          </summary>
          <ul>
            {hosts.map(({ host, count, items }) => (
              <li key={host} class="lines">
                {host}: {items.join(', ')}
                {count > items.length && ` and ${count - items.length} more`}
              </li>
            ))}
          </ul>
        </details>
      </div>
      {may('approve', set) && (
        <button class="button" onClick={openDialog}>
          {verb}
        </button>
      )}
    </section>
  );
}
