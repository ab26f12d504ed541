// A daemon in memory and a folder for manifests for each test of the CLI, both removed afterwards.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach } from 'vitest';
import { FakeWorld } from '../fakes/client.ts';
import type { FakeDaemon } from '../fakes/http-daemon.ts';
import { startWorldDaemon } from '../fakes/world-daemon.ts';

/** A new one for each test: do not destructure it. */
export interface CliWorld {
  readonly world: FakeWorld;
  readonly daemon: FakeDaemon;
  readonly folder: string;
  /** Its path. */
  manifest(text: string, name?: string): string;
}

export function useCliWorld(): CliWorld {
  let world = new FakeWorld();
  let daemon: FakeDaemon | undefined;
  let folder = '';
  beforeEach(async () => {
    world = new FakeWorld();
    daemon = await startWorldDaemon(world);
    folder = mkdtempSync(join(tmpdir(), 'gantry-cli-'));
  });
  afterEach(async () => {
    await daemon?.stop();
    rmSync(folder, { recursive: true, force: true });
  });
  return {
    get world() {
      return world;
    },
    get daemon() {
      if (daemon === undefined) throw new Error('the daemon is there within tests only');
      return daemon;
    },
    get folder() {
      return folder;
    },
    manifest(text, name = 'main.yaml') {
      const path = join(folder, name);
      writeFileSync(path, text);
      return path;
    },
  };
}
