// One host that two teams share, for the tests of a file: the victim's objects, and a directory of the host that must stay unreachable.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll } from 'vitest';
import { openSharedHost, type SharedHost } from './shared-host.ts';

export interface SharedHostSuite {
  /** From the first test on. */
  readonly host: SharedHost;
  /** The last observed objects of others, from before the first test or from `look`. */
  readonly before: string;
  look(): Promise<void>;
  readonly outside: string;
  /** A name that no container of the tenant has. */
  fresh(this: void): string;
}

export function useSharedHost(prefix: string): SharedHostSuite {
  let host: SharedHost | undefined;
  let before = '';
  let count = 0;
  const outside = mkdtempSync(join(tmpdir(), 'gtyo-'));
  const opened = (): SharedHost => {
    if (host === undefined) throw new Error('the shared host opens before the first test');
    return host;
  };
  const look = async (): Promise<void> => {
    before = await opened().others();
  };
  beforeAll(async () => {
    host = await openSharedHost();
    await look();
  }, 120_000);
  afterAll(async () => {
    await host?.cleanUp();
    rmSync(outside, { recursive: true, force: true });
  });
  return {
    get host() {
      return opened();
    },
    get before() {
      return before;
    },
    look,
    outside,
    fresh: () => `${prefix}${(count += 1)}`,
  };
}
