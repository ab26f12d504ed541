// Short notices in the corner: what an action did, or why it failed. Those of a success disappear by themselves.
import { signal } from '@preact/signals';
import { Icon } from './icons.tsx';

interface Notice {
  readonly id: number;
  readonly text: string;
  readonly isBad: boolean;
}

const notices = signal<readonly Notice[]>([]);
const shownFor = 6000;
let lastId = 0;

export function notify(text: string, isBad = false): void {
  const id = ++lastId;
  notices.value = [...notices.value.slice(-3), { id, text, isBad }];
  if (!isBad) setTimeout(() => dismiss(id), shownFor);
}

const dismiss = (id: number): void => {
  notices.value = notices.value.filter((notice) => notice.id !== id);
};

export function Notices() {
  return (
    <div class="notices" role="region" aria-label="Notices" aria-live="polite">
      {notices.value.map(({ id, text, isBad }) => (
        <div key={id} class={isBad ? 'notice bad' : 'notice'} role={isBad ? 'alert' : undefined}>
          <p class="lines">{text}</p>
          <button class="button plain icon-only" aria-label="Dismiss" onClick={() => dismiss(id)}>
            <Icon name="close" />
          </button>
        </div>
      ))}
    </div>
  );
}
