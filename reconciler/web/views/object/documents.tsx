// The declared document and the live object as text: side by side as one list of lines, marked where only one has them.
import { useMemo, useState } from 'preact/hooks';
import type { ObjectDetail } from '../../../controller/contract/index.ts';
import { DiffLines } from './differences.tsx';
import { diffLines, valueText } from './value-text.ts';

const tabs = ['diff', 'desired', 'live'] as const;
type Tab = (typeof tabs)[number];
const titles: Readonly<Record<Tab, string>> = { diff: 'Diff', desired: 'Desired', live: 'Live' };

export function Documents({ detail }: { readonly detail: ObjectDetail }) {
  const [tab, setTab] = useState<Tab>('desired');
  const desired = useMemo(() => textOf(detail.desired), [detail]);
  const live = useMemo(() => textOf(detail.live), [detail]);
  const lines = useMemo(() => diffLines(desired.split('\n'), live.split('\n')), [desired, live]);
  return (
    <section aria-label="Documents">
      <div class="actions" role="group" aria-label="Which document">
        {tabs.map((each) => (
          <button key={each} class="button" aria-pressed={tab === each} onClick={() => setTab(each)}>
            {titles[each]}
          </button>
        ))}
      </div>
      <pre class="document" tabIndex={0} aria-label={titles[tab]}>
        {tab === 'diff' ? <DiffLines lines={lines} /> : tab === 'desired' ? desired : live}
      </pre>
    </section>
  );
}

const textOf = (value: Readonly<Record<string, unknown>> | undefined): string =>
  value === undefined ? '(absent)' : valueText(value);
