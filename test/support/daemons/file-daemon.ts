// Daemons for all tests of a file: made while the file is loaded, cleaned up after its tests.
import { afterAll } from 'vitest';
import { makeDaemon, seed, type TestDaemon, type TestDaemonOptions } from './daemon.ts';

export async function fileDaemon(options: TestDaemonOptions = {}): Promise<TestDaemon> {
  const daemon = await makeDaemon(options);
  afterAll(() => daemon.cleanUp());
  return daemon;
}

/** The same with pool and profile `default`. */
export async function seededDaemon(options: TestDaemonOptions = {}): Promise<TestDaemon> {
  const daemon = await fileDaemon(options);
  await seed(daemon);
  return daemon;
}
