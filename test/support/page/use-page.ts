// Visits to the page for the tests of a file, with one browser, and what they press.
import type { Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, expect } from 'vitest';
import { PageHarness, type Visit, type VisitOptions } from './visit.ts';
import { smallWorld } from './worlds.ts';

type Visiting = (
  options: VisitOptions,
  act: (visit: Visit) => Promise<void>,
  world?: ReturnType<typeof smallWorld>,
) => Promise<void>;

/** For the enclosing `describe`. A visit fails if the browser has complaints. */
export function usePage(): Visiting {
  let harness: PageHarness;
  beforeAll(async () => (harness = await PageHarness.start()));
  afterAll(() => harness?.end());
  return async (options, act, world = smallWorld()) => {
    const visit = await harness.visit(world, options);
    try {
      await act(visit);
      expect(visit.complaints).toEqual([]);
    } finally {
      await visit.close();
    }
  };
}

export const button = (page: Page, name: string | RegExp): Locator => page.getByRole('button', { name }).first();
export const dialog = (page: Page): Locator => page.getByRole('dialog');
