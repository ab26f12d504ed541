// Shows the changes of a branch, tag or revision: its plan, host by host. Nothing is changed.
import { useState } from 'preact/hooks';
import type { Preview } from '../../../controller/contract/index.ts';
import { api, reasonOf } from '../../data/api.ts';
import { may } from '../../data/store.ts';
import { Icon } from '../../parts/icons.tsx';
import { Bones, Empty, Trouble } from '../../parts/states.tsx';
import { StatusMark } from '../../parts/status.tsx';
import { Differences } from '../object/differences.tsx';
import { ChangeText } from '../../parts/change-text.tsx';
import { Revision } from '../../parts/revision.tsx';

export function PreviewPart({ set }: { readonly set: string }) {
  const [preview, setPreview] = useState<Preview>();
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  if (!may('sync', set)) {
    return (
      <Empty title="Previews are for those who may operate">
        <p>A preview reads from every host of the set.</p>
      </Empty>
    );
  }
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const ref = new FormData(event.currentTarget as HTMLFormElement).get('ref');
    setBusy(true);
    setProblem(undefined);
    api
      .preview(set, { ref: typeof ref === 'string' ? ref.trim() : '' })
      .then(setPreview, (error: unknown) => setProblem(reasonOf(error)))
      .finally(() => setBusy(false));
  };
  return (
    <>
      <form class="filters" onSubmit={submit}>
        <label class="field grow">
          <span>Branch, tag or revision</span>
          <input class="input mono" name="ref" required maxLength={255} placeholder="main" />
        </label>
        <button class="button main-action" disabled={isBusy}>
          <Icon name="preview" /> Preview
        </button>
      </form>
      {isBusy && <Bones label="Planning" />}
      {!isBusy && problem !== undefined && <Trouble title="No preview" message={problem} />}
      {!isBusy && problem === undefined && preview !== undefined && <Plan set={set} preview={preview} />}
      {!isBusy && problem === undefined && preview === undefined && (
        <Empty title="See what a branch would change">
          <p>It is compared with what every host has now. Nothing is changed.</p>
        </Empty>
      )}
    </>
  );
}

function Plan({ set, preview }: { readonly set: string; readonly preview: Preview }) {
  return (
    <section class="card" aria-label="Plan">
      <header>
        <h2>
          Plan of <Revision revision={preview.revision} />
        </h2>
        <span class="soft">{preview.hosts.length === 1 ? '1 host' : `${preview.hosts.length} hosts`}</span>
      </header>
      {preview.problems.length > 0 && (
        <ul class="problem">
          {preview.problems.map(({ message, place }) => (
            <li key={`${place} ${message}`} class="lines">
              {place !== undefined && <code>{place} </code>}
              {message}
            </li>
          ))}
        </ul>
      )}
      {preview.hosts.map((host, at) => (
        <details key={host.host} class="host-plan" open={at === 0}>
          <summary>
            <span class="name">{host.host}</span> <ChangeText {...host.changes} />
            {host.restarts > 0 && (
              <StatusMark status="drifted" text={host.restarts === 1 ? '1 restart' : `${host.restarts} restarts`} />
            )}
            {host.error !== undefined && <StatusMark status="failed" text="no plan" />}
          </summary>
          {host.error !== undefined && <p class="problem lines">{host.error}</p>}
          <ul class="plan-objects">
            {host.objects.map((object) => (
              <li key={object.address}>
                <p>
                  <strong class={tones[object.action]}>{object.action}</strong> {object.address}{' '}
                  {object.power !== undefined && <span class="soft">and {object.power}</span>}
                </p>
                {object.reasons.map((reason) => (
                  <p key={reason} class="soft small">
                    {reason}
                  </p>
                ))}
                {object.guard !== undefined && <p class="small bad-text">Refused: {object.guard}</p>}
                {object.differences.length > 0 && (
                  <Differences
                    set={set}
                    address={object.address}
                    isLive={object.action !== 'create'}
                    differences={object.differences}
                  />
                )}
              </li>
            ))}
          </ul>
        </details>
      ))}
    </section>
  );
}

const tones = {
  create: 'good-text',
  update: 'warn-text',
  replace: 'bad-text',
  delete: 'bad-text',
  'no-op': 'soft',
} as const;
