// A controller over simulated hosts and a directory of manifests, for tests.
import type { SetStatus } from '../../../reconciler/controller/contract/index.ts';
import { mkdtemp, mkdir, realpath, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Engine } from '../../../reconciler/controller/engine.ts';
import { Hub } from '../../../reconciler/controller/hub.ts';
import type { ControllerConfig } from '../../../reconciler/controller/config/config.ts';
import { readConfig } from '../../../reconciler/controller/config/read-config.ts';
import type { OpenTracer } from '../../../server/traces/open.ts';
import { startEngine } from '../../../reconciler/controller/start.ts';
import { openMemoryDaemon, type MemoryDaemon } from '../daemons/in-memory.ts';
import { until } from '../until.ts';

export interface ControllerWorld {
  readonly folder: string;
  readonly daemons: readonly MemoryDaemon[];
  readonly hub: Hub;
  /** The controller that was started last. */
  readonly engine: Engine;
  /** Writes a manifest of the source. */
  write(name: string, text: string): Promise<void>;
  /** `config` replaces gantry.yaml. */
  start(config?: string, tracing?: OpenTracer): Promise<Engine>;
  stop(): Promise<void>;
  /** Another controller with another gantry.yaml. */
  beside(name: string, config: string): Promise<Beside>;
  profile(host: number, name: string): Promise<Record<string, string> | undefined>;
  /** Changes a profile as another client. */
  meddle(host: number, name: string, config: Record<string, string>): Promise<void>;
  close(): Promise<void>;
}

export interface Beside {
  readonly engine: Engine;
  readonly hub: Hub;
}

export const waitMs = 60_000;

/** One set `web` of the directory `manifests`, checked every 200 ms; `set`: more members of the set. */
export const simpleConfig = (set = ''): string => `hosts: { file: hosts.yaml }
sources:
  - { name: shop, directory: { path: manifests, interval: 200ms } }
sets:
  - { name: web, source: shop${set === '' ? '' : `, ${set}`} }
`;

export const profileText = (name: string, config: Record<string, string>): string =>
  `kind: profile\nname: ${name}\nconfig: ${JSON.stringify(config)}\n`;

/** Looks into Vault five times a second, which gantry.yaml does not allow. */
const hasty = (config: ControllerConfig): ControllerConfig => ({
  ...config,
  sets: config.sets.map((set) =>
    set.vault === undefined ? set : { ...set, vault: { ...set.vault, intervalMs: 200 } },
  ),
});

export async function openControllerWorld(hosts: number): Promise<ControllerWorld> {
  const folder = await realpath(await mkdtemp(join(tmpdir(), 'gantry-controller-')));
  const daemons = await Promise.all(Array.from({ length: hosts }, () => openMemoryDaemon()));
  await mkdir(join(folder, 'manifests'));
  const lines = daemons.map(
    ({ host }, at) => `  - { name: h${at + 1}, address: "${host}", labels: { rack: r${(at % 2) + 1} } }`,
  );
  await writeFile(join(folder, 'hosts.yaml'), `kind: hosts\nhosts:\n${lines.join('\n')}\n`);
  let engine: Engine | undefined;
  let hub = new Hub();
  const others: Engine[] = [];
  const begin = async (name: string, config: string, own: Hub): Promise<Engine> => {
    await writeFile(join(folder, name), config);
    const read = await readConfig(join(folder, name));
    if (read.config === undefined) throw new Error(read.diagnostics.map(({ message }) => message).join('; '));
    const started = await startEngine(hasty(read.config), own);
    if (started.engine === undefined) throw new Error(started.diagnostics.map(({ message }) => message).join('; '));
    return started.engine;
  };
  const daemon = (at: number): MemoryDaemon => {
    const found = daemons[at - 1];
    if (found === undefined) throw new Error(`there is no host ${at}`);
    return found;
  };
  const world: ControllerWorld = {
    folder,
    daemons,
    get hub() {
      return hub;
    },
    get engine() {
      if (engine === undefined) throw new Error('no controller runs');
      return engine;
    },
    write: (name, text) => writeFile(join(folder, 'manifests', name), text),
    async start(config = simpleConfig(), tracing?: OpenTracer) {
      hub = new Hub();
      hub.tracing = tracing;
      engine = await begin('gantry.yaml', config, hub);
      return engine;
    },
    async beside(name, config) {
      const own = new Hub();
      const other = await begin(name, config, own);
      others.push(other);
      return { engine: other, hub: own };
    },
    async stop() {
      await engine?.close();
      engine = undefined;
    },
    async profile(host, name) {
      const found = await daemon(host)
        .client.get('profile', name)
        .catch(() => undefined);
      return found?.metadata.config;
    },
    async meddle(host, name, config) {
      await daemon(host).client.patch('profile', name, { config });
    },
    async close() {
      await Promise.all([world.stop(), ...others.map((one) => one.close())]);
      await Promise.all(daemons.map((one) => one.close()));
      await rm(folder, { recursive: true, force: true });
    },
  };
  return world;
}

/** Waits until the set has this status. */
export function statusOf(world: ControllerWorld, set: string): SetStatus {
  const found = world.engine.overview().sets.find(({ name }) => name === set);
  if (found === undefined) throw new Error(`there is no set ${set}`);
  return found;
}

export async function hasStatus(world: ControllerWorld, set: string, status: string): Promise<void> {
  const found = () => world.engine.overview().sets.find(({ name }) => name === set);
  try {
    await until(() => found()?.status === status, waitMs);
  } catch (error) {
    throw new Error(`the set ${set} is not ${status}: ${JSON.stringify(found())}`, { cause: error });
  }
}
