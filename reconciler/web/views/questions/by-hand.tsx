// The dialogs before an action on a container: power, snapshots, files.
import type { PowerAction, SnapshotRequest } from '../../../controller/contract/index.ts';
import { api, type ContainerPlace } from '../../data/api.ts';
import { readContainers } from '../../data/containers.ts';
import { bytesText } from '../../data/figures.ts';
import { joined } from '../../data/paths.ts';
import { isAlone } from '../../data/store.ts';
import { Confirm } from '../../parts/dialog.tsx';
import { notify } from '../../parts/notices.tsx';
import { Field, text } from './field.tsx';

export type HandQuestion =
  | { readonly kind: 'power'; readonly container: ContainerPlace; readonly action: PowerAction }
  | {
      readonly kind: 'snapshot';
      readonly container: ContainerPlace;
      readonly action: SnapshotRequest['action'];
      readonly name?: string;
    }
  | {
      readonly kind: 'upload';
      readonly container: ContainerPlace;
      readonly directory: string;
      readonly files: readonly File[];
    };

export type HandProps<Kind extends HandQuestion['kind']> = Omit<Extract<HandQuestion, { kind: Kind }>, 'kind'> & {
  readonly close: () => void;
};

const inProject = ({ project }: ContainerPlace) => (project === undefined ? {} : { project });
const again = ({ host, project }: ContainerPlace): Promise<void> => readContainers(host, project);

export const upper = (word: string): string => word.charAt(0).toUpperCase() + word.slice(1);

/** `gantry ui` writes no audit log. */
const Reason = () =>
  isAlone.value ? null : (
    <Field label="Reason (for the audit log)">
      <input class="input" name="reason" maxLength={1000} />
    </Field>
  );

const words: Readonly<Record<PowerAction, { readonly past: string; readonly means: string }>> = {
  start: { past: 'started', means: 'It starts as it is configured now.' },
  stop: { past: 'stopped', means: 'Its processes are asked to end, for at most 30 seconds.' },
  restart: {
    past: 'restarted',
    means: 'Its processes are asked to end, for at most 30 seconds; then it starts again.',
  },
  freeze: { past: 'frozen', means: 'Its processes stand still until it is unfrozen.' },
  unfreeze: { past: 'unfrozen', means: 'Its processes continue.' },
};

export function PowerQuestion({ container, action, close }: HandProps<'power'>) {
  const { host, name } = container;
  const ends = action === 'stop' || action === 'restart';
  const onConfirm = async (form: FormData): Promise<void> => {
    const force = form.get('force') === 'on';
    const reason = text(form, 'reason');
    await api.power(container, { action, ...(force && { force }), ...inProject(container), ...(reason && { reason }) });
    notify(`${name} is ${words[action].past}.`);
    await again(container);
  };
  return (
    <Confirm
      title={`${upper(action)} ${name} on ${host}`}
      verb={upper(action)}
      isDangerous={ends}
      close={close}
      onConfirm={onConfirm}
    >
      <p>
        {words[action].means}
        {!isAlone.value && ' A set that declares another state brings that back.'}
      </p>
      {ends && (
        <label class="check">
          <input type="checkbox" name="force" /> Kill its processes at once
        </label>
      )}
      <Reason />
    </Confirm>
  );
}

const snapshotTexts = {
  take: { verb: 'Take it', past: 'taken', means: 'The disk of the container is kept as it is now.' },
  restore: {
    verb: 'Restore it',
    past: 'restored',
    means: 'The disk and the configuration go back to what they were. What was written since then is lost.',
  },
  delete: { verb: 'Delete it', past: 'deleted', means: 'The container itself stays as it is.' },
} as const;

export function SnapshotQuestion({ container, action, name, close }: HandProps<'snapshot'>) {
  const { verb, past, means } = snapshotTexts[action];
  const onConfirm = async (form: FormData): Promise<void> => {
    const given = name ?? text(form, 'name');
    const reason = text(form, 'reason');
    await api.snapshot(container, {
      action,
      ...(given && { name: given }),
      ...inProject(container),
      ...(reason && { reason }),
    });
    notify(`The snapshot ${given} of ${container.name} was ${past}.`.replace('  ', ' '));
    await again(container);
  };
  const title =
    name === undefined ? `Take a snapshot of ${container.name}` : `${upper(action)} ${name} of ${container.name}`;
  return (
    <Confirm title={title} verb={verb} isDangerous={action !== 'take'} close={close} onConfirm={onConfirm}>
      <p>{means}</p>
      {action === 'take' && (
        <Field label="Name (empty: the host gives one)">
          <input class="input" name="name" maxLength={200} />
        </Field>
      )}
      <Reason />
    </Confirm>
  );
}

export function UploadQuestion({
  container,
  directory,
  files,
  close,
  done,
}: HandProps<'upload'> & { readonly done: () => void }) {
  const onConfirm = async (): Promise<void> => {
    try {
      for (const file of files) await api.upload(container, joined(directory, file.name), file);
    } finally {
      // The files before the one that failed are there.
      done();
    }
    notify(files.length === 1 ? `${files[0]?.name} was uploaded.` : `${files.length} files were uploaded.`);
  };
  return (
    <Confirm title={`Upload to ${directory} in ${container.name}`} verb="Upload" close={close} onConfirm={onConfirm}>
      <ul>
        {files.map(({ name, size }) => (
          <li key={name} class="lines">
            {name} <span class="soft">{bytesText(size)}</span>
          </li>
        ))}
      </ul>
      <p>Files of the same names are replaced.</p>
    </Confirm>
  );
}
