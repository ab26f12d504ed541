// Keeps the devices of running containers as configured: plugs and unplugs on changes, forwards connections, and follows hardware that
// comes and goes.
import type { ServiceParts } from '../../shared/service-parts.ts';
import { keepAddresses } from './keep-addresses.ts';
import { keepVolatile } from './keep-volatile.ts';
import type { DeviceMap } from '../../../api/schema/common-schemas.ts';
import { isNic } from '../../../api/devices/index.ts';
import { errors } from '../../../api/errors.ts';
import type { DeviceRun } from '../../../drivers/devices/device.ts';
import { DirectoryWatch } from '../../../drivers/devices/directory-watch.ts';
import type { HostPaths } from '../../../drivers/devices/host-paths.ts';
import type { ProxyKeeper } from '../../../drivers/devices/proxy/proxies.ts';
import type { ProxyRun } from '../../../drivers/devices/proxy/proxy-plan.ts';
import type { LiveDevices, Plug } from '../../../drivers/runtime/driver.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import { logFailure } from '../../../lib/log.ts';
import { withRevert, type Revert } from '../../../lib/revert.ts';
import { nicNetworks } from '../../shared/expand.ts';
import type { Pools } from '../../storage/pools.ts';
import { changedParts, followsHardware, forwardsOf, plugOf } from './plugs.ts';
import { deviceRuns, rootfsOf } from './prepare-devices.ts';
import { planDevices, type DeviceStep } from './plan.ts';
import { hostVolumes } from '../../storage/host-volumes.ts';
import { whileVolumesStay } from '../../storage/volume-use.ts';
import { lockOf, readyContainer } from '../../shared/find-container.ts';
import type { NetworkHosts } from '../../networks/network-hosts.ts';
import type { ContainerView } from '../../shared/container-view.ts';
import { checkDisks, shownPaths } from '../../limits/host-paths.ts';
import { withoutUndefined } from '../../../lib/shared/without-undefined.ts';

export interface RunningDevicesDeps extends Pick<ServiceParts, 'records' | 'runtime' | 'locks' | 'log'> {
  readonly view: ContainerView;
  readonly pools: Pools;
  readonly hosts: NetworkHosts;
  readonly proxies: ProxyKeeper;
  readonly paths?: HostPaths;
}

export class RunningDevices {
  readonly #deps: RunningDevicesDeps;
  readonly #watch = new DirectoryWatch((name) => void this.#hardwareChanged(name));
  readonly #stopListening: () => void;

  constructor(deps: RunningDevicesDeps) {
    this.#deps = deps;
    this.#stopListening = deps.runtime.onExit(({ name, target }) => {
      if (target === 'stop') void this.#ended(name);
      // A reboot from inside: the forwarders need the new network.
      else void this.#attempt(name, 'could not be followed after a reboot', () => this.#reopen(name));
    });
  }

  /** Call after a start with these devices. If it throws, the container must be stopped. */
  async started(name: string, runs: ReadonlyMap<string, DeviceRun>): Promise<void> {
    this.#logWarnings(name, runs);
    for (const { proxies } of runs.values()) await this.#forward(name, proxies);
    this.#follow(name, runs);
  }

  close(): Promise<void> {
    this.#stopListening();
    this.#watch.close();
    return this.#deps.proxies.release();
  }

  async #ended(name: string): Promise<void> {
    this.#watch.set(name, []);
    await this.#deps.proxies.closeAll(name).catch((error: unknown) => {
      this.#deps.log.warn(`Ending the forwards of ${name} failed: ${errorText(error)}`);
    });
  }

  /** Opens the forwarders of a running container that this daemon did not start, and follows its hardware. */
  async #reopen(name: string): Promise<void> {
    const plugged = this.#plugged(name);
    if (plugged === undefined) return;
    for (const [device, properties] of Object.entries(plugged)) {
      await this.#forward(name, forwardsOf(device, properties)).catch((error: unknown) => {
        this.#deps.log.error(`The proxy ${device} of ${name} cannot be opened again: ${errorText(error)}`);
      });
    }
    await this.#followAll(name, plugged);
  }

  /** Catches up with missed hardware changes, and follows new ones. */
  async #followAll(name: string, plugged: DeviceMap): Promise<void> {
    const { live } = this.#deps.runtime;
    for (const [device, properties] of Object.entries(plugged)) {
      if (live !== undefined && followsHardware(properties)) await this.#followNodes(live, name, device, plugged);
    }
    await this.#followHardware(name, plugged);
  }

  async #followHardware(name: string, plugged: DeviceMap): Promise<void> {
    const watched = new Set(Object.keys(plugged).filter((device) => followsHardware(plugged[device])));
    if (watched.size === 0) return this.#watch.set(name, []);
    this.#follow(name, await this.#runsOf(name, plugged, watched).catch(() => new Map<string, DeviceRun>()));
  }

  #follow(name: string, runs: ReadonlyMap<string, DeviceRun>): void {
    const paths = [...runs.values()].flatMap((run) => run.watch);
    this.#watch.set(name, paths);
  }

  /** Undefined: it is stopped, or this daemon does not know. */
  #plugged(name: string): DeviceMap | undefined {
    const { runtime } = this.#deps;
    return runtime.probe(name).status === 'stopped' ? undefined : runtime.live?.plugged(name);
  }

  /** Updates the container's device nodes after the host's changed. */
  #hardwareChanged(name: string): Promise<void> {
    return this.#attempt(name, 'could not follow the hardware', async () => {
      const plugged = this.#plugged(name);
      if (plugged !== undefined) await this.#followAll(name, plugged);
    });
  }

  /** Work that nobody waits for, under the lock of the container: logs its failure. */
  async #attempt(name: string, problem: string, work: () => Promise<void>): Promise<void> {
    await this.#deps.locks.run(lockOf(name), work).catch((error: unknown) => {
      this.#deps.log.warn(`The devices of ${name} ${problem}: ${errorText(error)}`);
    });
  }

  async #followNodes(live: LiveDevices, name: string, device: string, plugged: DeviceMap): Promise<void> {
    // A device that has disappeared is no failure of a running container.
    const found = await this.#runsOf(name, plugged, new Set([device])).catch(() => undefined);
    const parts = live.parts(name, device);
    const nodes = found?.get(device)?.nodes ?? [];
    if (JSON.stringify(nodes) === JSON.stringify(parts.nodes)) return;
    await live.adjust(name, { device, properties: plugged[device] ?? {}, ...parts, nodes });
  }

  /** Applies the recorded devices to a running container. On a throw the devices are unchanged, and the error names the one that failed.
   *  `had`: its recorded devices before the change. The caller holds the container's lock. */
  async apply(name: string, had?: DeviceMap): Promise<void> {
    const { live } = this.#deps.runtime;
    if (live === undefined || this.#deps.runtime.probe(name).status === 'stopped') return;
    await whileVolumesStay(this.#deps, name, () => this.#apply(live, name, had));
  }

  async #apply(live: LiveDevices, name: string, had: DeviceMap | undefined): Promise<void> {
    const before = live.plugged(name);
    const found = this.#deps.view.expanded(readyContainer(this.#deps.records, name)).devices;
    await keepAddresses(this.#deps.records, name, found);
    const after = await this.#deps.hosts.reserveDevices(name);
    if (before === undefined) return refuseUnknown(name, planDevices(had ?? after, after));
    const steps = planDevices(before, after).filter((step) => step.kind !== 'wait');
    if (steps.length === 0) return;
    if (steps.some(({ device }) => isNic(after[device] ?? {}))) this.#deps.hosts.refuseAddresses(name);
    await this.#deps.hosts.refresh([...nicNetworks(before), ...nicNetworks(after)]);
    const runs = await this.#resolve(name, before, steps);
    await withRevert(
      async (revert) => {
        for (const step of steps) await this.#step(live, name, step, { after, runs, revert });
        await keepVolatile(this.#deps.records, name, runs, before, after);
      },
      logFailure(this.#deps.log, `Restoring the devices of ${name}`),
    );
    await this.#followHardware(name, live.plugged(name) ?? {});
  }

  /** For changes made elsewhere (profiles): takes the container's lock, and only if something is to be done. */
  async applyLocked(name: string): Promise<void> {
    if (this.#deps.runtime.live === undefined || this.#deps.runtime.probe(name).status === 'stopped') return;
    await this.#deps.locks.run(lockOf(name), async () => {
      if (this.#deps.records.containers.get(name)?.document.lifecycle === 'ready') await this.apply(name);
    });
  }

  /** Call after a change to something that these containers use. Logs failures. */
  async applyAll(names: readonly string[]): Promise<void> {
    for (const name of names) {
      await this.applyLocked(name).catch((error: unknown) => {
        this.#deps.log.error(`The devices of ${name} are not as recorded: ${errorText(error)}`);
      });
    }
  }

  /** Call after a daemon start: reopens forwarders, and applies changes that the last daemon did not complete. */
  async resume(names: readonly string[]): Promise<void> {
    for (const name of names) {
      if (this.#deps.runtime.probe(name).status === 'stopped') continue;
      try {
        await this.#deps.locks.run(lockOf(name), () => this.#reopen(name));
        await this.applyLocked(name);
      } catch (error) {
        this.#deps.log.error(`The devices of ${name} are not as recorded: ${errorText(error)}`);
      }
    }
    await this.#deps.proxies.sweep();
  }

  async #resolve(
    name: string,
    before: DeviceMap,
    steps: readonly DeviceStep[],
  ): Promise<ReadonlyMap<string, DeviceRun>> {
    const wanted = new Set(steps.filter(({ kind }) => kind !== 'unplug').map(({ device }) => device));
    const devices = this.#deps.hosts.devices(name);
    // Remaining devices keep their names even if profiles no longer define them.
    const runs = await this.#runsOf(name, { ...before, ...devices }, wanted);
    this.#logWarnings(name, runs);
    return runs;
  }

  #logWarnings(name: string, runs: ReadonlyMap<string, DeviceRun>): void {
    for (const warning of [...runs.values()].flatMap((run) => run.warnings)) this.#deps.log.warn(`${name}: ${warning}`);
  }

  /** Throws at once what concerns the whole container; rejects if a device cannot be prepared, which may mean that it has disappeared. */
  #runsOf(name: string, devices: DeviceMap, only: ReadonlySet<string>): Promise<ReadonlyMap<string, DeviceRun>> {
    const { records, runtime, view, pools, paths } = this.#deps;
    const entry = readyContainer(records, name);
    checkDisks(records, name, Object.fromEntries(Object.entries(devices).filter(([device]) => only.has(device))));
    const volumes = hostVolumes({ records, runtime, pools }, name);
    const places = { rootfs: rootfsOf(pools, entry), shownPaths: shownPaths(records, name) };
    const options = { ...places, volumes, ...withoutUndefined({ host: paths }) };
    return deviceRuns(entry.document, { ...view.expanded(entry), devices }, options, only);
  }

  async #step(
    live: LiveDevices,
    name: string,
    step: DeviceStep,
    {
      after,
      runs,
      revert,
    }: { readonly after: DeviceMap; readonly runs: ReadonlyMap<string, DeviceRun>; readonly revert: Revert },
  ): Promise<void> {
    const { device, kind } = step;
    const was: Plug = { device, properties: live.plugged(name)?.[device] ?? {}, ...live.parts(name, device) };
    try {
      if (kind === 'unplug') {
        revert.push(() => this.#undo(name, device, () => this.#plugBack(live, name, was)));
        await this.#deps.proxies.close(name, device);
        await live.unplug(name, device);
        return;
      }
      const run = runs.get(device);
      const plug = plugOf(device, after[device] ?? {}, run);
      const changed = kind === 'adjust' ? changedParts(plug, was) : 'replug';
      if (changed !== 'replug') {
        await live.adjust(name, { ...plug, ...changed });
        revert.push(() => this.#undo(name, device, () => live.adjust(name, was)));
        return;
      }
      if (kind === 'adjust') {
        revert.push(() => this.#undo(name, device, () => this.#plugBack(live, name, was)));
        await live.unplug(name, device);
      }
      await live.plug(name, plug);
      revert.push(() => this.#undo(name, device, () => live.unplug(name, device)));
      revert.push(() => this.#deps.proxies.close(name, device));
      await this.#forward(name, run?.proxies ?? []);
    } catch (error) {
      throw errors.badRequest(
        `The device ${device} of the running container ${name} could not be ${verbs[kind]}, and its devices stay as they were: ${errorText(error)}`,
      );
    }
  }

  async #plugBack(live: LiveDevices, name: string, was: Plug): Promise<void> {
    const { device, properties } = was;
    if (!Object.hasOwn(live.plugged(name) ?? {}, device)) await live.plug(name, was);
    await this.#forward(name, forwardsOf(device, properties));
  }

  async #forward(name: string, forwards: readonly ProxyRun[]): Promise<void> {
    for (const run of forwards) await this.#deps.proxies.open(name, run, this.#deps.runtime.probe(name).initPid);
  }

  async #undo(name: string, device: string, work: () => Promise<void>): Promise<void> {
    await work().catch((error: unknown) => {
      if (this.#deps.runtime.probe(name).status === 'stopped') return;
      this.#deps.log.error(`Restoring the device ${device} of ${name} failed: ${errorText(error)}`);
    });
  }
}

/** The plugged devices are unknown if the record of the start was lost, or an older release started the container. */
function refuseUnknown(name: string, steps: readonly DeviceStep[]): void {
  const devices = steps.filter(({ kind }) => kind !== 'wait').map(({ device }) => device);
  if (devices.length === 0) return;
  throw errors.badRequest(
    `The devices of the running container ${name} cannot be changed (${devices.join(', ')}): how it was started is not known to this daemon. Restart it, then change them`,
  );
}

const verbs = { unplug: 'unplugged', plug: 'plugged in', adjust: 'changed', wait: 'changed' } as const;
