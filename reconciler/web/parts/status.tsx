// A status as colour, shape and word together, so that each of them alone is enough.
import type { ObjectStatusName } from '../../controller/contract/index.ts';
import { statusNames } from '../data/status-names.ts';
import { Icon, type IconName } from './icons.tsx';

export function StatusMark({ status, text }: { readonly status: ObjectStatusName; readonly text?: string }) {
  return (
    <span class={`mark status-${status}`}>
      <Icon name={status} size={12} />
      {text ?? status}
    </span>
  );
}

type Tone = ObjectStatusName;
const tones: Readonly<Record<string, Tone>> = {
  online: 'synced',
  offline: 'failed',
  done: 'synced',
  running: 'syncing',
  partial: 'drifted',
  cancelled: 'suspended',
  'rolled-back': 'suspended',
  skipped: 'suspended',
  healed: 'synced',
  healing: 'syncing',
  reported: 'drifted',
  ignored: 'unknown',
  error: 'failed',
  warn: 'drifted',
  info: 'waiting',
  debug: 'unknown',
};

/** Any other word of the contract, in the colour of its meaning. */
export function WordMark({ word }: { readonly word: string }) {
  const tone = tones[word] ?? ((statusNames as readonly string[]).includes(word) ? (word as Tone) : 'unknown');
  return (
    <span class={`mark status-${tone}`}>
      <Icon name={tone satisfies IconName} size={12} />
      {word}
    </span>
  );
}

/** How many of all are synced, drifted, failed: as a bar with words for those who do not see it. */
export function Meter({
  counts,
}: {
  readonly counts: { total: number; synced: number; drifted: number; failed: number };
}) {
  const { total, synced, drifted, failed } = counts;
  const width = (count: number) => ({ width: `${total === 0 ? 0 : (count / total) * 100}%` });
  const text = `${synced} of ${total} synced, ${drifted} drifted, ${failed} failed`;
  return (
    <span class="meter" role="img" aria-label={text} title={text}>
      <i style={{ ...width(synced), color: 'var(--synced)' }} />
      <i style={{ ...width(drifted), color: 'var(--drifted)' }} />
      <i style={{ ...width(failed), color: 'var(--failed)' }} />
    </span>
  );
}
