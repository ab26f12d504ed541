// Keyboard shortcuts and the page that lists them. Shortcuts are off while something is typed or a dialog is open.
import { signal } from '@preact/signals';
import { Dialog } from '../parts/dialog.tsx';
import { nextTheme } from '../data/theme.ts';
import { go } from '../data/router.ts';
import { isSearchOpen } from './search.tsx';

export const isHelpOpen = signal(false);

interface Shortcut {
  readonly keys: string;
  readonly text: string;
  readonly run?: () => void;
}

const shortcuts: readonly Shortcut[] = [
  { keys: 'g o', text: 'Overview', run: () => go('#/') },
  { keys: 'g f', text: 'Fleet', run: () => go('#/fleet') },
  { keys: 'g t', text: 'Timeline', run: () => go('#/timeline') },
  { keys: 'g p', text: 'Operations', run: () => go('#/operations') },
  { keys: 'g d', text: 'Drift', run: () => go('#/drift') },
  { keys: 'g l', text: 'Logs', run: () => go('#/logs') },
  { keys: 's', text: 'Search everything', run: () => (isSearchOpen.value = true) },
  { keys: '/', text: 'Search in this view', run: focusSearch },
  { keys: 't', text: 'Switch between the system theme, light and dark', run: nextTheme },
  { keys: '?', text: 'These shortcuts', run: () => (isHelpOpen.value = true) },
  { keys: '↑ ↓', text: 'Move in a list; in the graph also ← →' },
  { keys: 'Enter', text: 'Open the chosen object' },
  { keys: 'Esc', text: 'Close the object or the dialog' },
  { keys: 'Ctrl+F6', text: 'Leave the terminal of a console' },
  { keys: '+ − 0', text: 'In the graph: closer, farther, everything' },
];

function focusSearch(): void {
  document.querySelector<HTMLElement>('input[type=search]')?.focus();
}

/** How long a first key waits for its second one. */
const chordTime = 1200;

export function startShortcuts(): void {
  let before = '';
  let at = 0;
  window.addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target) || isDialogOpen()) return;
    const chord = before !== '' && event.timeStamp - at < chordTime ? `${before} ${event.key}` : '';
    const found = shortcuts.find(({ keys }) => keys === chord) ?? shortcuts.find(({ keys }) => keys === event.key);
    before = event.key;
    at = event.timeStamp;
    if (found?.run === undefined) return;
    event.preventDefault();
    found.run();
  });
}

const isTyping = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement && target.closest('input, textarea, select, .terminal') !== null;
const isDialogOpen = (): boolean => document.querySelector('dialog[open]') !== null;

export function Help() {
  if (!isHelpOpen.value) return null;
  const close = (): void => void (isHelpOpen.value = false);
  return (
    <Dialog title="Keyboard shortcuts" close={close}>
      <dl class="keys">
        {shortcuts.map(({ keys, text }) => (
          <div key={keys}>
            <dt>
              {keys.split(' ').map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{text}</dd>
          </div>
        ))}
      </dl>
      <div class="actions">
        <button class="button main-action" onClick={close}>
          Close
        </button>
      </div>
    </Dialog>
  );
}
