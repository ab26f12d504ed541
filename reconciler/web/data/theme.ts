// Light or dark: as the system prefers, or as the user chose; the choice is stored in this browser.
import { effect, signal } from '@preact/signals';

export const themeChoices = ['auto', 'light', 'dark'] as const;
export type ThemeChoice = (typeof themeChoices)[number];

const key = 'gantry-theme';
const systemIsDark = window.matchMedia('(prefers-color-scheme: dark)');

export const themeChoice = signal<ThemeChoice>(stored());
const systemDark = signal(systemIsDark.matches);
/** The current theme; drawings on a canvas read their colours again when it changes. */
export const shownTheme = signal<'light' | 'dark'>('light');

export function startTheme(): void {
  systemIsDark.addEventListener('change', (event) => (systemDark.value = event.matches));
  effect(() => {
    const choice = themeChoice.value;
    const shown = choice === 'auto' ? (systemDark.value ? 'dark' : 'light') : choice;
    document.documentElement.dataset['theme'] = shown;
    shownTheme.value = shown;
  });
}

export function nextTheme(): void {
  const at = themeChoices.indexOf(themeChoice.value);
  themeChoice.value = themeChoices[(at + 1) % themeChoices.length] ?? 'auto';
  try {
    localStorage.setItem(key, themeChoice.value);
  } catch {
    // This browser stores nothing: the choice is lost when the page is left.
  }
}

function stored(): ThemeChoice {
  try {
    return themeChoices.find((choice) => choice === localStorage.getItem(key)) ?? 'auto';
  } catch {
    return 'auto';
  }
}
