// The dialogs before a change: sync, suspend, resume, rollback, and actions on containers. Each describes what will happen and where.
import { countOf } from '../../data/figures.ts';
import { signal } from '@preact/signals';
import type { ApprovalGate, PruneGate } from '../../../controller/contract/index.ts';
import { api } from '../../data/api.ts';
import { readOverview, takeOperation } from '../../data/store.ts';
import { Confirm } from '../../parts/dialog.tsx';
import { notify } from '../../parts/notices.tsx';
import { shortRevision } from '../../parts/revision.tsx';
import { PowerQuestion, SnapshotQuestion, UploadQuestion, type HandQuestion } from './by-hand.tsx';
import { Field, text } from './field.tsx';

export type Question =
  | HandQuestion
  | { readonly kind: 'sync'; readonly set: string; readonly host?: string }
  | {
      readonly kind: 'suspend';
      readonly set: string;
      readonly host?: string;
      readonly address?: string;
      readonly path?: string;
    }
  | { readonly kind: 'resume'; readonly set: string; readonly id?: string; readonly what: string }
  | { readonly kind: 'prune'; readonly set: string; readonly gate: PruneGate }
  | { readonly kind: 'approve'; readonly set: string; readonly gate: ApprovalGate }
  | { readonly kind: 'rollback'; readonly set: string; readonly revision: string };

const question = signal<Question | undefined>(undefined);
/** Grows when a suspension began or ended: open objects are read again. */
export const suspensionsChanged = signal(0);
/** Grows when files were uploaded. */
export const filesChanged = signal(0);

export function ask(next: Question): void {
  question.value = next;
}

export function OpenQuestion() {
  const asked = question.value;
  const close = (): void => void (question.value = undefined);
  switch (asked?.kind) {
    case undefined:
      return null;
    case 'sync':
      return <SyncQuestion {...asked} close={close} />;
    case 'suspend':
      return <SuspendQuestion {...asked} close={close} />;
    case 'resume':
      return <ResumeQuestion {...asked} close={close} />;
    case 'prune':
      return <PruneQuestion {...asked} close={close} />;
    case 'approve':
      return <ApproveQuestion {...asked} close={close} />;
    case 'rollback':
      return <RollbackQuestion {...asked} close={close} />;
    case 'power':
      return <PowerQuestion {...asked} close={close} />;
    case 'snapshot':
      return <SnapshotQuestion {...asked} close={close} />;
    case 'upload':
      return <UploadQuestion {...asked} close={close} done={() => void filesChanged.value++} />;
  }
}

type QuestionProps<Kind extends Question['kind']> = Omit<Extract<Question, { kind: Kind }>, 'kind'> & {
  readonly close: () => void;
};

function SyncQuestion({ set, host, close }: QuestionProps<'sync'>) {
  const onConfirm = async (form: FormData): Promise<void> => {
    const reason = text(form, 'reason');
    const operation = await api.sync(set, { ...(reason && { reason }), ...(host !== undefined && { hosts: [host] }) });
    takeOperation(operation);
    notify(`The sync of ${set} has begun.`);
  };
  return (
    <Confirm title={`Sync ${set}`} verb="Sync now" close={close} onConfirm={onConfirm}>
      <p>
        {host === undefined ? 'Every host of the set' : host} is compared with the newest revision now, and differences
        are applied. Windows and guards stay in force.
      </p>
      <Field label="Reason (for the history)">
        <input class="input" name="reason" maxLength={1000} />
      </Field>
    </Confirm>
  );
}

const durations = [
  { text: '1 hour', hours: 1 },
  { text: '4 hours', hours: 4 },
  { text: '1 day', hours: 24 },
  { text: '1 week', hours: 168 },
  { text: 'until it is resumed', hours: 0 },
];

function SuspendQuestion({ set, host, address, path, close }: QuestionProps<'suspend'>) {
  const what = [path, address, address === undefined ? set : undefined].find((part) => part !== undefined) ?? set;
  const onConfirm = async (form: FormData): Promise<void> => {
    const hours = Number(text(form, 'hours'));
    const until = hours === 0 ? undefined : new Date(Date.now() + hours * 3_600_000).toISOString();
    await api.suspend(set, {
      reason: text(form, 'reason'),
      ...(host !== undefined && { host }),
      ...(address !== undefined && { address }),
      ...(path !== undefined && { path }),
      ...(until !== undefined && { until }),
    });
    suspensionsChanged.value++;
    notify(`${what} is suspended.`);
    await readOverview();
  };
  return (
    <Confirm title={`Suspend ${what}`} verb="Suspend" close={close} onConfirm={onConfirm}>
      <p>
        Nothing is changed{' '}
        {address === undefined ? 'in this set' : `on ${path === undefined ? 'this object' : 'this field'}`}
        {host === undefined ? '' : ` on ${host}`} until it is resumed. Differences are still shown.
      </p>
      <Field label="Reason">
        <input class="input" name="reason" required maxLength={1000} />
      </Field>
      <Field label="For">
        <select class="input" name="hours">
          {durations.map(({ text, hours }) => (
            <option key={hours} value={hours}>
              {text}
            </option>
          ))}
        </select>
      </Field>
    </Confirm>
  );
}

function ResumeQuestion({ set, id, what, close }: QuestionProps<'resume'>) {
  const onConfirm = async (): Promise<void> => {
    const { resumed } = await api.resume(set, id === undefined ? {} : { id });
    suspensionsChanged.value++;
    notify(resumed.length === 1 ? '1 suspension has ended.' : `${resumed.length} suspensions have ended.`);
    await readOverview();
  };
  return (
    <Confirm title={`Resume ${what}`} verb="Resume" close={close} onConfirm={onConfirm}>
      <p>The suspension ends. Differences that are there by now are applied as the mode of the set says.</p>
    </Confirm>
  );
}

function PruneQuestion({ set, gate, close }: QuestionProps<'prune'>) {
  const onConfirm = async (form: FormData): Promise<void> => {
    const operation = await api.prune(set, { revision: gate.revision, reason: text(form, 'reason') });
    takeOperation(operation);
    notify(`The deletion in ${set} is approved.`);
  };
  const count = countOf(gate.hosts);
  return (
    <Confirm
      title={`Delete ${count} objects of ${set}`}
      verb="Delete them"
      isDangerous
      close={close}
      onConfirm={onConfirm}
    >
      <p>
        <code>{shortRevision(gate.revision)}</code> no longer declares them. The approval is for this revision only.
      </p>
      <Field label="Reason">
        <input class="input" name="reason" required maxLength={1000} />
      </Field>
    </Confirm>
  );
}

function ApproveQuestion({ set, gate: { revision, plan, hosts }, close }: QuestionProps<'approve'>) {
  const onConfirm = async (form: FormData): Promise<void> => {
    await api.approve(set, { revision, plan, reason: text(form, 'reason') });
    notify(`The plan of ${set} is approved.`);
    await readOverview();
  };
  const count = countOf(hosts);
  return (
    <Confirm title={`Approve the plan of ${set}`} verb="Approve" isDangerous close={close} onConfirm={onConfirm}>
      <p>
        Its {count} steps are carried out. The approval is for <code>{shortRevision(revision)}</code> and these steps
        only; neither its author nor who asked for it can give it.
      </p>
      <Field label="Reason">
        <input class="input" name="reason" required maxLength={1000} />
      </Field>
    </Confirm>
  );
}

function RollbackQuestion({ set, revision, close }: QuestionProps<'rollback'>) {
  const onConfirm = async (form: FormData): Promise<void> => {
    const operation = await api.rollback(set, { revision, reason: text(form, 'reason') });
    takeOperation(operation);
    notify(`The rollback of ${set} has begun.`);
  };
  return (
    <Confirm
      title={`Roll ${set} back to ${shortRevision(revision)}`}
      verb="Roll back"
      isDangerous
      close={close}
      onConfirm={onConfirm}
    >
      <p>
        All hosts of the set go back to <code>{shortRevision(revision)}</code>. What was created since then may be
        deleted. The set stays there until it is resumed.
      </p>
      <Field label="Reason">
        <input class="input" name="reason" required maxLength={1000} />
      </Field>
    </Confirm>
  );
}
