// Changes the devices of running LXC containers: nics, mounts, device nodes, rates. Records each change before making it, so that a daemon
// started after a crash knows what may exist.
import { DeviceActions, type LiveDeps } from './device-actions.ts';
import { joined, partKinds, partsOf, pick, without } from './parts.ts';
import { existsSync } from 'node:fs';
import { errorText } from '../../../lib/shared/reason.ts';
import { logFailure } from '../../../lib/log.ts';
import { withRevert } from '../../../lib/revert.ts';
import { driverErrors } from '../../driver-error.ts';
import { type DeviceParts, noParts, ownMount } from '../../device-parts.ts';
import type { LiveDevices, MountRun, NicRun, Plug } from '../driver.ts';
import { followPriority } from './live-keys.ts';
import { unmount } from '../mounts/mapped-mounts.ts';
import type { InterfaceSettings } from '../nic/commands.ts';
import { checkNicPlaces, joinHost, readInterfaceSettings, returnToHost, shape } from '../nic/plug.ts';
import { isolatePort } from '../nic/filters.ts';
import { cablesOf, type DeviceState, type RunningRecord } from './running-record.ts';
import { withoutUndefined } from '../../../lib/shared/without-undefined.ts';

export interface LiveBook {
  need(name: string): RunningRecord;
  remember(state: RunningRecord): void;
  lock<T>(name: string, work: () => Promise<T>): Promise<T>;
}

export class LxcLive implements LiveDevices {
  readonly #deps: LiveDeps;
  readonly #book: LiveBook;
  readonly #actions: DeviceActions;

  constructor(deps: LiveDeps, book: LiveBook) {
    this.#deps = deps;
    this.#actions = new DeviceActions(deps);
    this.#book = book;
  }

  plugged(name: string): DeviceState['properties'] | undefined {
    return this.#book.need(name).devices?.properties;
  }

  parts(name: string, device: string): DeviceParts {
    return partsOf(this.#book.need(name).devices?.now ?? noParts, device);
  }

  async plug(name: string, plug: Plug): Promise<void> {
    await this.#book.lock(name, async () => {
      const before = this.#book.need(name);
      const devices = needDevices(before);
      if (Object.hasOwn(devices.properties, plug.device)) {
        throw driverErrors.exists(`Container "${name}" has a device ${plug.device} already`);
      }
      checkTargets(devices.now, plug);
      for (const nic of plug.nics) await checkNicPlaces(nic, before.initPid);
      const lent = { ...devices.lent, ...settingsBefore(plug.nics) };
      this.#note(before, { ...devices, lent, now: joined(devices.now, plug) });
      await withRevert(
        async (revert) => {
          revert.push(() => this.#book.remember(before));
          await this.#actions.plug(before, devices, plug, revert);
          this.#note(before, {
            ...devices,
            lent,
            now: joined(devices.now, plug),
            properties: { ...devices.properties, [plug.device]: plug.properties },
          });
          if (plug.nics.length > 0) await followPriority(this.#deps, this.#book.need(name));
        },
        this.#failed(name, `Unplugging ${plug.device}, which could not be plugged in,`),
      );
    });
  }

  async adjust(name: string, plug: Plug): Promise<void> {
    await this.#book.lock(name, async () => {
      const before = this.#book.need(name);
      const devices = needDevices(before);
      const old = partsOf(devices.now, plug.device);
      const now = joined(without(devices.now, plug.device), plug);
      const properties = { ...devices.properties, [plug.device]: plug.properties };
      await withRevert(
        async (revert) => {
          for (const nic of plug.nics) {
            const was = old.nics.find((one) => one.name === nic.name);
            revert.push(() => (was === undefined ? undefined : this.#actions.reshape(was, nic)));
            await this.#actions.reshape(nic, was);
          }
          await this.#actions.changeNodes(before, devices, old.nodes, plug.nodes, revert);
          revert.push(() => this.#actions.setRates(before, devices.now, plug));
          this.#actions.setRates(before, now, old);
          this.#note(before, { ...devices, now, properties });
        },
        this.#failed(name, `Restoring ${plug.device}, which could not be changed,`),
      );
    });
  }

  async unplug(name: string, device: string): Promise<void> {
    await this.#book.lock(name, async () => {
      const state = this.#book.need(name);
      const devices = needDevices(state);
      const parts = partsOf(devices.now, device);
      const { [device]: _gone, ...properties } = devices.properties;
      await withRevert(
        async (revert) => {
          await this.#actions.unplug(state, devices, parts, revert);
          this.#note(state, { ...devices, now: without(devices.now, device), properties });
        },
        this.#failed(name, `Plugging ${device} in again, which could not be unplugged,`),
      );
    });
  }

  async show(name: string, mount: MountRun): Promise<void> {
    await this.#book.lock(name, async () => {
      const before = this.#book.need(name);
      const devices = needDevices(before);
      const parts = { ...noParts, mounts: [mount] };
      checkTargets(devices.now, { ...parts, device: mount.device, properties: {} });
      this.#note(before, { ...devices, now: joined(devices.now, parts) });
      await withRevert(
        async (revert) => {
          revert.push(() => this.#book.remember(before));
          await this.#actions.mount(before, devices, mount);
        },
        this.#failed(name, `Forgetting the mount ${mount.target}`),
      );
    });
  }

  async hide(name: string, target: string): Promise<void> {
    await this.#book.lock(name, async () => {
      const state = this.#book.need(name);
      const devices = needDevices(state);
      const isMeant = (mount: MountRun): boolean => mount.device === ownMount && mount.target === target;
      const mounts = devices.now.mounts.filter(isMeant);
      await this.#actions.unplug(state, devices, { ...noParts, mounts });
      const rest = devices.now.mounts.filter((mount) => !isMeant(mount));
      this.#note(state, { ...devices, now: { ...devices.now, mounts: rest } });
    });
  }

  shown(name: string): readonly string[] {
    return this.parts(name, ownMount).mounts.map((mount) => mount.target);
  }

  #failed(container: string, what: string): (error: unknown) => void {
    return logFailure(this.#deps.log, what, { container });
  }

  #note(state: RunningRecord, devices: DeviceState): void {
    this.#book.remember({ ...state, nics: cablesOf(devices.now), devices });
  }

  /** LXC has started the container: adds what LXC does not. */
  async afterStart(state: RunningRecord): Promise<void> {
    const { now } = needDevices(state);
    for (const nic of now.nics) {
      if (nic.rates !== undefined) await shape(nic, this.#deps.paths.tag);
      if (nic.isolated === true) isolatePort(nic);
      await joinHost(nic);
    }
    await followPriority(this.#deps, state);
    this.#actions.setRates(state, now, noParts);
  }

  /** A daemon that died while plugging left parts of an unplugged device, which would block the next try. The caller holds the lock. */
  async afterCrash(state: RunningRecord): Promise<void> {
    const { devices } = state;
    if (devices === undefined) return;
    const begun = new Set(partKinds.flatMap((kind) => devices.atStart[kind].map(({ device }) => device)));
    const isWhole = ({ device }: { readonly device: string }): boolean =>
      device === ownMount || begun.has(device) || Object.hasOwn(devices.properties, device);
    const half = pick(devices.now, (part) => !isWhole(part));
    if (partKinds.every((kind) => half[kind].length === 0)) return;
    try {
      await this.#actions.unplug(state, devices, half);
      this.#note(state, { ...devices, now: pick(devices.now, isWhole) });
    } catch (error) {
      this.#deps.log.warn('parts of a half-plugged device stay', { container: state.name, reason: errorText(error) });
    }
  }

  /** The new init has the devices of the start: restores the current ones. The caller holds the lock. */
  async afterReboot(state: RunningRecord): Promise<void> {
    const { devices } = state;
    if (devices === undefined) return;
    const attempt = async (what: string, work: () => Promise<void>): Promise<void> => {
      await work().catch((error: unknown) => {
        this.#deps.log.warn(`after a reboot: ${what}`, { container: state.name, reason: errorText(error) });
      });
    };
    await this.#fetchLent(state);
    const isIn = (list: DeviceParts) => (part: unknown) =>
      partKinds.some((kind) => list[kind].some((one) => JSON.stringify(one) === JSON.stringify(part)));
    const unwanted = pick(devices.atStart, (part) => !isIn(devices.now)(part));
    await attempt('an unplugged device has reappeared', () => this.#actions.unplug(state, devices, unwanted));
    const missing = pick(devices.now, (part) => !isIn(devices.atStart)(part));
    await attempt('a device cannot be plugged in again', () =>
      withRevert(
        (revert) => this.#actions.plug(state, { ...devices, now: devices.atStart }, missing, revert),
        this.#failed(state.name, 'Unplugging a device that could not be plugged in again'),
      ),
    );
    await attempt('limits of devices', () => this.afterStart(state));
  }

  /** The container is gone: brings back host interfaces and removes what the kernel leaves. */
  async afterStop(state: RunningRecord): Promise<void> {
    const { paths, libc } = this.#deps;
    await this.#fetchLent(state);
    for (const nic of state.devices?.now.nics ?? []) await this.#actions.afterStop(nic, state.devices);
    if (libc !== undefined) unmount(libc, paths.namespaceFile(state.name));
  }

  async #fetchLent(state: RunningRecord): Promise<void> {
    const { paths, log } = this.#deps;
    const file = paths.namespaceFile(state.name);
    if (!existsSync(file)) return;
    for (const nic of state.devices?.now.nics ?? []) {
      if (nic.kind !== 'physical' || existsSync(`/sys/class/net/${nic.hostName}`)) continue;
      await returnToHost(nic, file).catch((error: unknown) =>
        log.warn('cannot bring back an interface', { interface: nic.hostName, reason: errorText(error) }),
      );
    }
  }
}

/** Settings of the host interfaces about to move into the container. */
export function settingsBefore(nics: readonly NicRun[]): Readonly<Record<string, InterfaceSettings>> {
  const lent: Record<string, InterfaceSettings> = {};
  for (const nic of nics) {
    if (nic.kind !== 'physical' || !existsSync(`/sys/class/net/${nic.hostName}`)) continue;
    const { hwaddr, mtu } = readInterfaceSettings(nic.hostName);
    lent[nic.hostName] = {
      ...(nic.hwaddr === undefined || hwaddr === undefined ? {} : { hwaddr }),
      ...withoutUndefined({ mtu }),
    };
  }
  return lent;
}

function needDevices(state: RunningRecord): DeviceState {
  if (state.devices !== undefined) return state.devices;
  throw driverErrors.notSupported(
    `Container "${state.name}" was started by an older release: its devices can be changed after its next start`,
  );
}

/** Two devices at one mount point would hide each other. */
function checkTargets(now: DeviceParts, plug: Plug): void {
  const taken = new Map([...now.mounts, ...now.nodes].map((one) => [one.target, one.device]));
  for (const { target } of [...plug.mounts, ...plug.nodes]) {
    const owner = taken.get(target);
    if (owner === undefined) continue;
    throw driverErrors.exists(`Device ${plug.device}: ${target} belongs to the device ${owner} already`);
  }
}
