// Dialogs, drawers and folding parts of the page by component, and the parts of views, for tests of each of them.
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { repositoryRoot } from '../build-daemon.ts';

interface Opening {
  readonly place: string;
  /** The button or link that opens it; absent: the place alone does. */
  readonly press?: string | RegExp;
  readonly afterwards?: (page: Page) => Promise<void>;
}

export const openings: Readonly<Record<string, Opening>> = {
  SyncQuestion: { place: '#/sets/web', press: 'Sync' },
  SuspendQuestion: { place: '#/sets/web', press: 'Suspend' },
  ResumeQuestion: { place: '#/sets/monitoring', press: 'Resume all' },
  PruneQuestion: { place: '#/sets/base', press: 'Approve deletion' },
  ApproveQuestion: { place: '#/sets/base', press: 'Approve the plan' },
  RollbackQuestion: { place: '#/sets/web/history', press: /^Roll back to/ },
  PowerQuestion: { place: '#/hosts/node01/web1', press: 'Stop web1' },
  SnapshotQuestion: { place: '#/hosts/node01/web1', press: 'Restore before-upgrade' },
  UploadQuestion: {
    place: '#/hosts/node01/web1/files?path=%2Fsrv',
    afterwards: async (page) => {
      await page
        .locator('input[type=file]')
        .setInputFiles({ name: 'shop.conf', mimeType: 'text/plain', buffer: Buffer.from('open') });
      await page.getByText('Files of the same names are replaced.').waitFor();
    },
  },
  SearchDialog: {
    place: '#/drift',
    press: 'Search everything',
    afterwards: async (page) => {
      await page.getByLabel('Words to search for').fill('web1');
      await page.getByRole('dialog').getByRole('option').first().waitFor();
    },
  },
  Help: { place: '#/drift', press: 'Keyboard shortcuts' },
  ObjectDrawer: { place: '#/sets/web?object=node01+container%2Fweb1', press: 'Diff' },
  GatePart: { place: '#/sets/base' },
  Plan: {
    place: '#/sets/web/preview',
    afterwards: async (page) => {
      await page.getByLabel('Branch, tag or revision').fill('more-memory');
      await page.keyboard.press('Enter');
      await page.getByText('limits.memory needs a restart').waitFor();
    },
  },
  OperationRow: { place: '#/operations' },
  Problems: { place: '#/sets/web' },
  Notices: {
    place: '#/sets/base',
    press: 'Sync',
    afterwards: async (page) => {
      await page.getByRole('button', { name: 'Sync now' }).click();
      await page.getByText('The sync of base has begun.').waitFor();
    },
  },
};

export async function open(page: Page, { press, afterwards }: Opening): Promise<void> {
  if (press !== undefined) await page.getByRole('button', { name: press }).first().click();
  await afterwards?.(page);
  await page.evaluate('document.querySelectorAll("details").forEach((each) => (each.open = true))');
}

const web = join(repositoryRoot, 'reconciler/web');
const source = (file: string): string => readFileSync(join(web, file), 'utf8');

/** Components of the source that draw a dialog, a drawer, notices or a part that folds. */
export function drawnOpenings(): readonly string[] {
  const files = readdirSync(web, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.tsx'));
  return files
    .filter((file) => file !== 'parts/dialog.tsx')
    .flatMap((file) =>
      source(file)
        .split(/^(?=(?:export )?function )/m)
        .filter((text) => /<(Dialog|Confirm|aside|details)\b|class="notices"/.test(text))
        .flatMap((text) => /^(?:export )?function (\w+)/.exec(text)?.[1] ?? []),
    );
}

/** The first words of addresses that the page knows, and the parts of a set. */
export function knownPlaces(): { readonly rooms: readonly string[]; readonly parts: readonly string[] } {
  const cases = (file: string): readonly string[] =>
    [...source(file).matchAll(/^ +case '([^']+)':/gm)].map(([, name = '']) => name);
  return { rooms: cases('shell/app.tsx'), parts: cases('views/set/set-view.tsx') };
}
