// The containers that the tests of all runtime drivers use: a driver opened on one directory, and what remains of them is removed.
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import type { RunConfig, RuntimeDriver, RuntimeExit } from '../../server/drivers/runtime/driver.ts';

/** `deaf` never shuts down when asked, `short-lived` ends by itself at once, `with-console` has a shell on its console. */
export type RuntimeTestKind = 'ordinary' | 'deaf' | 'short-lived' | 'with-console';

export interface RuntimeHarness {
  /** Opens the driver on the same directory each time. */
  open(): Promise<RuntimeDriver>;
  /** A fresh container. */
  prepare(name: string, kind?: RuntimeTestKind): Promise<RunConfig>;
  poweroffInside(driver: RuntimeDriver, name: string): Promise<void>;
  rebootInside(driver: RuntimeDriver, name: string): Promise<void>;
  /** Lets the container end or reboot while no driver is open. */
  whileDown(name: string, target: 'stop' | 'reboot'): Promise<void>;
  /** The current memory limit, in bytes; undefined = none. */
  memoryLimit(driver: RuntimeDriver, name: string): number | undefined;
  processLimit(driver: RuntimeDriver, name: string): number | undefined;
  /** Everything of this container that remains on the host: processes, interfaces, cgroups. */
  remains(run: RunConfig): readonly string[];
  /** Makes the next start of this prepared container fail half way; the reason must appear in the error. */
  sabotage(run: RunConfig): Promise<{ readonly run: RunConfig; readonly reason: RegExp }>;
  cleanup(): Promise<void>;
}

export const never: AbortSignal = new AbortController().signal;

export interface RuntimeWorld {
  readonly harness: RuntimeHarness;
  /** Another one after `reopen`. */
  readonly driver: RuntimeDriver;
  /** Announced by this driver. */
  readonly exits: RuntimeExit[];
  prepare(this: void, name: string, kind?: RuntimeTestKind): Promise<RunConfig>;
  /** An ordinary container that runs. */
  started(this: void, name: string, changes?: Partial<RunConfig>): Promise<RunConfig>;
  kill(this: void, name: string): Promise<void>;
  /** As a restart of the daemon. */
  reopen(this: void, names: readonly string[]): Promise<void>;
}

/** Each test of the enclosing `describe` has a fresh driver. */
export function runtimeWorld(makeHarness: () => Promise<RuntimeHarness>): RuntimeWorld {
  let harness: RuntimeHarness;
  let driver: RuntimeDriver;
  let exits: RuntimeExit[];
  const used = new Set<string>();

  const open = async (): Promise<void> => {
    driver = await harness.open();
    exits = [];
    const heard = exits;
    driver.onExit((exit) => heard.push(exit));
  };
  const prepare = async (name: string, kind?: RuntimeTestKind): Promise<RunConfig> => {
    used.add(name);
    return harness.prepare(name, kind);
  };
  const kill = async (name: string): Promise<void> => driver.stop(name, { force: true }, never);

  beforeAll(async () => {
    harness = await makeHarness();
  });
  afterAll(async () => {
    await harness?.cleanup();
  });
  beforeEach(open);
  afterEach(async () => {
    for (const name of used) {
      if (driver.probe(name).status !== 'stopped') await kill(name).catch(() => {});
      await driver.forget(name).catch(() => {});
    }
    used.clear();
    await driver.close();
  });

  return {
    get harness() {
      return harness;
    },
    get driver() {
      return driver;
    },
    get exits() {
      return exits;
    },
    prepare,
    kill,
    started: async (name, changes = {}) => {
      const run = { ...(await prepare(name)), ...changes };
      await driver.start(run, never);
      return run;
    },
    reopen: async (names) => {
      await driver.close();
      await open();
      await driver.recover(names);
    },
  };
}
