// Keeps the devices of running containers as they are wanted: plugs and unplugs when they change, forwards connections, and
// follows hardware that comes and goes.
import type { ConfigMap, DeviceMap } from '../../api/common.ts';
import { errors } from '../../api/errors.ts';
import type { DeviceRun } from '../../drivers/devices/device.ts';
import type { HostPaths } from '../../drivers/devices/host-paths.ts';
import type { LiveDevices, Plug, RuntimeDriver } from '../../drivers/runtime/driver.ts';
import type { KeyedMutex } from '../../lib/keyed-mutex.ts';
import { errorText, type Log } from '../../lib/log.ts';
import { withRevert, type Revert } from '../../lib/revert.ts';
import type { Records } from '../../records/records.ts';
import { nicNetworks } from '../expand.ts';
import type { Pools } from '../pools.ts';
import { deviceRuns, rootfsOf, volatileKeys } from './device-runs.ts';
import { planDevices, type DeviceStep } from './device-plan.ts';
import { hostVolumes } from '../volumes/host-volumes.ts';
import { lockOf } from './deps.ts';
import { withHardwareAddresses } from './draft.ts';
import { readyContainer } from './find.ts';
import type { NetworkHosts } from './network-hosts.ts';
import type { ContainerView } from './view.ts';

export interface RunningDevicesDeps {
  readonly records: Records;
  readonly runtime: RuntimeDriver;
  readonly view: ContainerView;
  readonly pools: Pools;
  readonly hosts: NetworkHosts;
  readonly locks: KeyedMutex;
  readonly log: Log;
  readonly paths?: HostPaths;
}

export class RunningDevices {
  readonly #deps: RunningDevicesDeps;

  constructor(deps: RunningDevicesDeps) {
    this.#deps = deps;
  }

  /**
   * Brings the recorded devices of a container into force if it runs. On a throw the devices are as they were, and the error
   * names the one that failed. The caller holds the container's lock.
   */
  async apply(name: string): Promise<void> {
    const { live } = this.#deps.runtime;
    if (live === undefined || this.#deps.runtime.probe(name).status === 'stopped') return;
    const before = live.plugged(name);
    if (before === undefined) return;
    const after = this.#deps.view.expanded(readyContainer(this.#deps.records, name)).devices;
    const steps = planDevices(before, after).filter((step) => step.kind !== 'wait');
    if (steps.length === 0) return;
    await this.#keepAddresses(name, after);
    await this.#deps.hosts.settle([...nicNetworks(before), ...nicNetworks(after)]);
    const runs = await this.#resolve(name, before, steps);
    await withRevert(async (revert) => {
      for (const step of steps) await this.#step(live, name, step, after, runs, revert);
      await this.#keepVolatile(name, runs, before, after);
    });
  }

  /** For changes made elsewhere (profiles): takes the container's lock, and only when there is something to do. */
  async applyLocked(name: string): Promise<void> {
    if (this.#deps.runtime.live === undefined || this.#deps.runtime.probe(name).status === 'stopped') return;
    await this.#deps.locks.run(lockOf(name), async () => {
      if (this.#deps.records.containers.get(name)?.document.lifecycle === 'ready') await this.apply(name);
    });
  }

  /** After a daemon start: what was changed while the last daemon died is done now. */
  async resume(names: readonly string[]): Promise<void> {
    for (const name of names) {
      try {
        await this.applyLocked(name);
      } catch (error) {
        this.#deps.log.error(`The devices of ${name} are not as recorded: ${errorText(error)}`);
      }
    }
  }

  async #resolve(
    name: string,
    before: DeviceMap,
    steps: readonly DeviceStep[],
  ): Promise<ReadonlyMap<string, DeviceRun>> {
    const entry = readyContainer(this.#deps.records, name);
    const expanded = this.#deps.view.expanded(entry);
    const wanted = new Set(steps.filter(({ kind }) => kind !== 'unplug').map(({ device }) => device));
    // Devices that stay keep their names although profiles may say nothing of them any more.
    const devices = { ...before, ...expanded.devices };
    const { paths, pools } = this.#deps;
    const volumes = hostVolumes({ records: this.#deps.records, pools });
    const options = { rootfs: rootfsOf(pools, entry), volumes, ...(paths === undefined ? {} : { host: paths }) };
    const runs = await deviceRuns(entry.document, { ...expanded, devices }, options, wanted);
    for (const { warnings } of runs.values())
      for (const warning of warnings) this.#deps.log.warn(`${name}: ${warning}`);
    return runs;
  }

  async #step(
    live: LiveDevices,
    name: string,
    step: DeviceStep,
    after: DeviceMap,
    runs: ReadonlyMap<string, DeviceRun>,
    revert: Revert,
  ): Promise<void> {
    const { device, kind } = step;
    const was: Plug = { device, properties: live.plugged(name)?.[device] ?? {}, ...live.parts(name, device) };
    try {
      if (kind === 'unplug') {
        revert.push(() => this.#undo(name, device, () => live.plug(name, was)));
        await live.unplug(name, device);
        return;
      }
      const plug = plugOf(device, after[device] ?? {}, runs.get(device));
      if (kind === 'plug') {
        await live.plug(name, plug);
        revert.push(() => this.#undo(name, device, () => live.unplug(name, device)));
      } else {
        await live.adjust(name, plug);
        revert.push(() => this.#undo(name, device, () => live.adjust(name, was)));
      }
    } catch (error) {
      throw errors.badRequest(
        `The device ${device} of the running container ${name} could not be ${verbs[kind]}, and its devices stay as they were: ${errorText(error)}`,
      );
    }
  }

  async #undo(name: string, device: string, work: () => Promise<void>): Promise<void> {
    const has = Object.hasOwn(this.#deps.runtime.live?.plugged(name) ?? {}, device);
    await work().catch((error: unknown) => {
      if (has || this.#deps.runtime.probe(name).status !== 'stopped') {
        this.#deps.log.error(`Putting the device ${device} of ${name} back failed: ${errorText(error)}`);
      }
    });
  }

  /** A nic that a profile brings has no address of its own yet. */
  async #keepAddresses(name: string, devices: DeviceMap): Promise<void> {
    const { records } = this.#deps;
    await keepAddresses(records, name, devices);
  }

  async #keepVolatile(
    name: string,
    runs: ReadonlyMap<string, DeviceRun>,
    before: DeviceMap,
    after: DeviceMap,
  ): Promise<void> {
    const lost = Object.keys(before).filter((device) => !(device in after));
    const added = volatileKeys(runs);
    const isLost = (key: string): boolean => lost.some((device) => key.startsWith(`volatile.${device}.`));
    const { config } = readyContainer(this.#deps.records, name).document;
    const kept = Object.fromEntries(Object.entries(config).filter(([key]) => !isLost(key)));
    const wanted: ConfigMap = { ...kept, ...added };
    if (isSame(config, wanted)) return;
    await this.#deps.records.retry((changes) => {
      const { document } = readyContainer(this.#deps.records, name);
      const now = Object.fromEntries(Object.entries(document.config).filter(([key]) => !isLost(key)));
      changes.put('containers', name, { ...document, config: { ...now, ...added } });
    });
  }
}

const verbs = { unplug: 'unplugged', plug: 'plugged in', adjust: 'changed', wait: 'changed' } as const;

const isSame = (a: ConfigMap, b: ConfigMap): boolean =>
  Object.keys(a).length === Object.keys(b).length && Object.entries(a).every(([key, value]) => b[key] === value);

function plugOf(device: string, properties: ConfigMap, run: DeviceRun | undefined): Plug {
  const { nics = [], mounts = [], nodes = [], diskRates = [] } = run ?? {};
  return { device, properties, nics, mounts, nodes, diskRates };
}

/** Every nic of the container has its hardware address recorded, also those that profiles brought later. */
export async function keepAddresses(records: Records, name: string, devices: DeviceMap): Promise<void> {
  const { config } = readyContainer(records, name).document;
  if (withHardwareAddresses(records, config, devices) === config) return;
  await records.retry((changes) => {
    const { document } = readyContainer(records, name);
    changes.put('containers', name, {
      ...document,
      config: withHardwareAddresses(records, document.config, devices),
    });
  });
}
