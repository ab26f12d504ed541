// The containers of a host with their usage, and buttons for each.
import { useState } from 'preact/hooks';
import { Card, Columns } from '../../parts/card.tsx';
import { useContainers } from '../../data/containers.ts';
import { bytesText, cpuText, ratesOf, type Samples } from '../../data/figures.ts';
import { to } from '../../data/router.ts';
import { canUseConsole } from '../../data/store.ts';
import { Bones, Empty } from '../../parts/states.tsx';
import { ContainerStatus } from './container-status.tsx';
import { PowerButtons } from './power-buttons.tsx';
import type { ContainerView } from '../../../controller/contract/index.ts';

export function ContainersCard({ host }: { readonly host: string }) {
  const isOn = canUseConsole.value;
  const { list, error, samples } = useContainers(host, undefined, isOn);
  const [words, setWords] = useState('');
  if (!isOn) return null;
  const all = list?.containers ?? [];
  const found = matching(all, words);
  const shown = found.slice(0, maxRows);
  return (
    <Card id="containers-title" title="Containers" count={list?.containers.length}>
      {error !== undefined && (
        <p class="problem lines" role="alert">
          The containers could not be read: {error}
        </p>
      )}
      {list === undefined && error === undefined && <Bones rows={3} label="Loading containers" />}
      {list?.containers.length === 0 && <Empty title="The host has no containers" />}
      {all.length > fewRows && (
        <div class="pad list-tools">
          <label class="field">
            <span class="hidden">Search containers</span>
            <input
              class="input"
              type="search"
              placeholder="Search names, addresses   /"
              value={words}
              onInput={(event) => setWords(event.currentTarget.value)}
            />
          </label>
          <p class="soft small" role="status">
            {countText(shown.length, found.length, all.length)}
          </p>
        </div>
      )}
      {shown.length > 0 && (
        <table class="table stacks">
          <Columns names={['Status', 'Container', 'CPU', 'Memory', 'Snapshots', 'Do']} />
          <tbody>
            {shown.map((one) => (
              <Row key={one.name} host={host} one={one} samples={samples.get(one.name) ?? []} />
            ))}
          </tbody>
        </table>
      )}
    </Card>
  );
}

/** Every update draws all rows. */
const maxRows = 100;
const fewRows = 20;
const byName = new Intl.Collator('en', { numeric: true });

function matching(all: readonly ContainerView[], words: string): readonly ContainerView[] {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  return all
    .filter(({ name, addresses, description }) => {
      const text = [name, ...addresses, description].join(' ').toLowerCase();
      return wanted.every((word) => text.includes(word));
    })
    .sort((a, b) => byName.compare(a.name, b.name));
}

function countText(shown: number, found: number, all: number): string {
  const [some, matches, whole] = [shown, found, all].map((count) => count.toLocaleString('en'));
  if (shown < found) return `The first ${some} of ${matches} containers: search for the others`;
  return found < all ? `${matches} of ${whole} containers` : `${whole} containers`;
}

interface RowProps {
  readonly host: string;
  readonly one: ContainerView;
  readonly samples: Samples;
}

function Row({ host, one: { name, status, addresses, figures, snapshots, description }, samples }: RowProps) {
  const cpu = ratesOf(samples.slice(-2)).at(-1)?.cpu;
  return (
    <tr>
      <td class="narrow">
        <ContainerStatus status={status} />
      </td>
      <td>
        <a class="name" href={to(['hosts', host, name])}>
          {name}
        </a>
        <div class="soft small">{[...addresses.slice(0, 2), description].filter(Boolean).join('  ')}</div>
      </td>
      <td class="narrow">{cpu === undefined ? '' : cpuText(cpu)}</td>
      <td class="narrow">{figures === undefined ? '' : bytesText(figures.memoryBytes)}</td>
      <td class="narrow soft">{snapshots.length}</td>
      <td class="narrow">
        <PowerButtons container={{ host, name, project: undefined }} status={status} isSmall />
      </td>
    </tr>
  );
}
