// Changes the devices of running LXC containers: nics, mounts, device nodes, rates. Each change is written down before it is made,
// so that whoever comes after a crash knows what may be there.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { exec } from '../../../lib/exec.ts';
import { errorText } from '../../../lib/log.ts';
import { withRevert, type Revert } from '../../../lib/revert.ts';
import { DriverError } from '../../driver-error.ts';
import { type DeviceParts, noParts, ownMount } from '../../device-parts.ts';
import { type CgroupTree, readGroupFile, writeGroupFiles } from '../cgroup/cgroup.ts';
import { diskRateValues } from '../cgroup/disk-rate-values.ts';
import type { LiveDevices, MountRun, NicRun, NodeRun, Plug } from '../driver.ts';
import { type FileDeps, mapOfMount } from '../mounts/container-files.ts';
import { findProgram } from '../host/programs.ts';
import { followPriority } from './live-keys.ts';
import { makeNode, nodeMount, permitNode, removeNode } from '../mounts/device-nodes.ts';
import { openMountTree, unmount } from '../mounts/mapped-mounts.ts';
import { mountInside, unmountInside } from '../mounts/mount-inside.ts';
import type { Dress } from '../nic/commands.ts';
import {
  checkNicPlaces,
  giveBack,
  plugInto,
  readDress,
  removeShape,
  removeVlan,
  shape,
  takeBack,
  unplugFrom,
} from '../nic/plug.ts';
import { addRoutes, dropRoutes } from '../nic/routes.ts';
import { cablesOf, type DeviceState, type RunningRecord } from './running-record.ts';

export interface LiveDeps extends FileDeps {
  readonly tree: CgroupTree;
}

/** The runtime's own book of containers. */
export interface LiveBook {
  need(name: string): RunningRecord;
  remember(state: RunningRecord): void;
  lock<T>(name: string, work: () => Promise<T>): Promise<T>;
}

type Parts = { -readonly [Key in keyof DeviceParts]: DeviceParts[Key] };
const kinds = ['nics', 'mounts', 'nodes', 'diskRates'] as const;

const partsOf = (parts: DeviceParts, device: string): DeviceParts => pick(parts, (one) => one.device === device);
const without = (parts: DeviceParts, device: string): DeviceParts => pick(parts, (one) => one.device !== device);
function pick(parts: DeviceParts, fits: (part: { readonly device: string }) => boolean): DeviceParts {
  const picked: Parts = { ...noParts };
  for (const kind of kinds) (picked[kind] as readonly unknown[]) = parts[kind].filter(fits);
  return picked;
}
const joined = (a: DeviceParts, b: DeviceParts): DeviceParts => ({
  nics: [...a.nics, ...b.nics],
  mounts: [...a.mounts, ...b.mounts],
  nodes: [...a.nodes, ...b.nodes],
  diskRates: [...a.diskRates, ...b.diskRates],
});

export class LxcLive implements LiveDevices {
  readonly #deps: LiveDeps;
  readonly #book: LiveBook;

  constructor(deps: LiveDeps, book: LiveBook) {
    this.#deps = deps;
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
        throw new DriverError('Exists', `Container "${name}" has a device ${plug.device} already`);
      }
      checkTargets(devices.now, plug);
      for (const nic of plug.nics) checkNicPlaces(nic, before.initPid);
      const lent = { ...devices.lent, ...lentBy(plug.nics) };
      this.#note(before, { ...devices, lent, now: joined(devices.now, plug) });
      await withRevert(async (revert) => {
        revert.push(() => this.#book.remember(before));
        await this.#plugParts(before, devices, plug, revert);
        this.#note(before, {
          ...devices,
          lent,
          now: joined(devices.now, plug),
          properties: { ...devices.properties, [plug.device]: plug.properties },
        });
        if (plug.nics.length > 0) await followPriority(this.#deps, this.#book.need(name));
      });
    });
  }

  async #plugParts(state: RunningRecord, devices: DeviceState, parts: DeviceParts, revert: Revert): Promise<void> {
    for (const mount of parts.mounts) {
      await this.#mount(state, devices, mount);
      revert.push(() => unmountInside(state.initPid, mount.target, false));
    }
    for (const node of parts.nodes) {
      revert.push(() => this.#removeNode(state, node));
      await this.#addNode(state, devices, node);
    }
    for (const nic of parts.nics) {
      if (nic.kind === 'physical') await this.#keepNamespace(state);
      await plugInto(nic, state.initPid, this.#deps.paths.tag);
      revert.push(() => this.#unplugNic(state, devices, nic));
    }
    if (parts.diskRates.length > 0) {
      revert.push(() => this.#setRates(state, devices.now, parts));
      this.#setRates(state, joined(devices.now, parts), noParts);
    }
  }

  async adjust(name: string, plug: Plug): Promise<void> {
    await this.#book.lock(name, async () => {
      const before = this.#book.need(name);
      const devices = needDevices(before);
      const old = partsOf(devices.now, plug.device);
      const now = joined(without(devices.now, plug.device), plug);
      const properties = { ...devices.properties, [plug.device]: plug.properties };
      await withRevert(async (revert) => {
        for (const nic of plug.nics) {
          const was = old.nics.find((one) => one.name === nic.name);
          revert.push(() => (was === undefined ? undefined : this.#dress(was, nic)));
          await this.#dress(nic, was);
        }
        await this.#changeNodes(before, devices, old.nodes, plug.nodes, revert);
        revert.push(() => this.#setRates(before, devices.now, plug));
        this.#setRates(before, now, old);
        this.#note(before, { ...devices, now, properties });
      });
    });
  }

  /** Rates, filter and routes of a nic, in place of those that it has. */
  async #dress(nic: NicRun, was: NicRun | undefined): Promise<void> {
    await shape(nic, this.#deps.paths.tag);
    if (was !== undefined) await dropRoutes(was, nic.routes);
    await addRoutes(nic);
  }

  async #changeNodes(
    state: RunningRecord,
    devices: DeviceState,
    old: readonly NodeRun[],
    wanted: readonly NodeRun[],
    revert: Revert,
  ): Promise<void> {
    const lacks = (list: readonly NodeRun[]) => (node: NodeRun) =>
      !list.some((one) => JSON.stringify(one) === JSON.stringify(node));
    for (const node of old.filter(lacks(wanted))) {
      revert.push(() => this.#addNode(state, devices, node));
      await this.#removeNode(state, node);
    }
    for (const node of wanted.filter(lacks(old))) {
      revert.push(() => this.#removeNode(state, node));
      await this.#addNode(state, devices, node);
    }
  }

  async unplug(name: string, device: string): Promise<void> {
    await this.#book.lock(name, async () => {
      const state = this.#book.need(name);
      const devices = needDevices(state);
      const parts = partsOf(devices.now, device);
      await this.#unplugParts(state, devices, parts);
      const { [device]: _gone, ...properties } = devices.properties;
      this.#note(state, { ...devices, now: without(devices.now, device), properties });
    });
  }

  async show(name: string, mount: MountRun): Promise<void> {
    await this.#book.lock(name, async () => {
      const before = this.#book.need(name);
      const devices = needDevices(before);
      const parts = { ...noParts, mounts: [mount] };
      checkTargets(devices.now, { ...parts, device: mount.device, properties: {} });
      this.#note(before, { ...devices, now: joined(devices.now, parts) });
      await withRevert(async (revert) => {
        revert.push(() => this.#book.remember(before));
        await this.#mount(before, devices, mount);
      });
    });
  }

  async hide(name: string, target: string): Promise<void> {
    await this.#book.lock(name, async () => {
      const state = this.#book.need(name);
      const devices = needDevices(state);
      const isMeant = (mount: MountRun): boolean => mount.device === ownMount && mount.target === target;
      const mounts = devices.now.mounts.filter(isMeant);
      await this.#unplugParts(state, devices, { ...noParts, mounts });
      const rest = devices.now.mounts.filter((mount) => !isMeant(mount));
      this.#note(state, { ...devices, now: { ...devices.now, mounts: rest } });
    });
  }

  shown(name: string): readonly string[] {
    return this.parts(name, ownMount).mounts.map((mount) => mount.target);
  }

  async #unplugParts(state: RunningRecord, devices: DeviceState, parts: DeviceParts): Promise<void> {
    for (const nic of parts.nics) await this.#unplugNic(state, devices, nic);
    for (const mount of parts.mounts) {
      await unmountInside(state.initPid, mount.target, false);
      this.#letGo(state.name, devices, mount.target);
    }
    for (const node of parts.nodes) {
      await this.#removeNode(state, node);
      this.#letGo(state.name, devices, node.target);
    }
    if (parts.diskRates.length > 0) this.#setRates(state, withoutParts(devices.now, parts), parts);
  }

  /** LXC made the container from a second mount on the host; left there it would keep the source busy. */
  #letGo(name: string, devices: DeviceState, target: string): void {
    const { libc, paths } = this.#deps;
    const index = [...devices.atStart.mounts, ...devices.atStart.nodes].findIndex((one) => one.target === target);
    if (index >= 0 && libc !== undefined) unmount(libc, paths.mappedMount(name, index));
  }

  async #unplugNic(state: RunningRecord, devices: DeviceState, nic: NicRun): Promise<void> {
    const { paths } = this.#deps;
    await unplugFrom(nic, state.initPid, paths.tag);
    const before = devices.lent[nic.hostName];
    if (nic.kind === 'physical' && before !== undefined) await giveBack(nic.hostName, before);
    await removeVlan(nic, paths.tag);
  }

  async #mount(state: RunningRecord, devices: DeviceState, mount: MountRun): Promise<void> {
    const { libc, namespaces } = this.#deps;
    if (libc === undefined)
      throw new DriverError('NotSupported', 'Plugging disks into running containers needs koffi (npm)');
    if (mount.optional && !existsSync(mount.source)) return;
    const run = { name: state.name, idmap: devices.idmap };
    const map = await mapOfMount(this.#deps, run, mount, new AbortController().signal);
    const tree = await openMountTree({ libc, namespaces }, { ...mount, map });
    await mountInside(state.initPid, tree, mount);
  }

  async #addNode(state: RunningRecord, devices: DeviceState, node: NodeRun): Promise<void> {
    const { tree, paths } = this.#deps;
    const file = await makeNode(paths.nodesDir(state.name), node, devices.idmap);
    await permitNode(tree, paths, state.name, node, true);
    await this.#mount(state, devices, nodeMount(node, file));
  }

  async #removeNode(state: RunningRecord, node: NodeRun): Promise<void> {
    const { tree, paths } = this.#deps;
    await unmountInside(state.initPid, node.target, true);
    const others = state.devices?.now.nodes.filter((one) => one.target !== node.target) ?? [];
    const isShared = others.some(
      (one) => one.kind === node.kind && one.major === node.major && one.minor === node.minor,
    );
    if (!isShared && !isUsual(node)) await permitNode(tree, paths, state.name, node, false);
    removeNode(paths.nodesDir(state.name), node);
  }

  /** Rates of the devices in `gone` that `now` does not name are lifted. */
  #setRates(state: RunningRecord, now: DeviceParts, gone: DeviceParts): void {
    const { tree, paths, log } = this.#deps;
    applyDiskRates(tree, paths.group(state.name), now.diskRates, gone.diskRates, (reason) =>
      log.warn('disk rates cannot be set', { container: state.name, reason }),
    );
  }

  /** An interface lent to a namespace that vanishes could vanish with it, or come back under another name. */
  async #keepNamespace(state: RunningRecord): Promise<void> {
    const file = this.#deps.paths.namespaceFile(state.name);
    const { libc } = this.#deps;
    if (libc !== undefined) unmount(libc, file);
    mkdirSync(this.#deps.paths.containerDir(state.name), { recursive: true });
    writeFileSync(file, '');
    await exec([findProgram('mount') ?? 'mount', '--bind', `/proc/${state.initPid}/ns/net`, file], {
      timeoutMs: 10_000,
    });
  }

  #note(state: RunningRecord, devices: DeviceState): void {
    this.#book.remember({ ...state, nics: cablesOf(devices.now), devices });
  }

  /** LXC has started the container: what it does not do itself. */
  async afterStart(state: RunningRecord): Promise<void> {
    const { now } = needDevices(state);
    for (const nic of now.nics) {
      if (isShaped(nic)) await shape(nic, this.#deps.paths.tag);
      await addRoutes(nic);
    }
    await followPriority(this.#deps, state);
    this.#setRates(state, now, noParts);
  }

  /** A daemon that died in the middle of plugging left parts of a device that is not plugged: they would be in the way of the next
   *  try. The caller holds the lock. */
  async afterCrash(state: RunningRecord): Promise<void> {
    const { devices } = state;
    if (devices === undefined) return;
    const begun = new Set(kinds.flatMap((kind) => devices.atStart[kind].map(({ device }) => device)));
    const isWhole = ({ device }: { readonly device: string }): boolean =>
      device === ownMount || begun.has(device) || Object.hasOwn(devices.properties, device);
    const half = pick(devices.now, (part) => !isWhole(part));
    if (kinds.every((kind) => half[kind].length === 0)) return;
    try {
      await this.#unplugParts(state, devices, half);
      this.#note(state, { ...devices, now: pick(devices.now, isWhole) });
    } catch (error) {
      this.#deps.log.warn('parts of a half-plugged device stay', { container: state.name, reason: errorText(error) });
    }
  }

  /** Init is a new one and has the devices of the start: brings those in force back. The caller holds the lock. */
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
      kinds.some((kind) => list[kind].some((one) => JSON.stringify(one) === JSON.stringify(part)));
    const unwanted = pick(devices.atStart, (part) => !isIn(devices.now)(part));
    await attempt('an unplugged device is there again', () => this.#unplugParts(state, devices, unwanted));
    const missing = pick(devices.now, (part) => !isIn(devices.atStart)(part));
    await attempt('a device cannot be plugged in again', () =>
      withRevert((revert) => this.#plugParts(state, { ...devices, now: devices.atStart }, missing, revert)),
    );
    await attempt('limits of devices', () => this.afterStart(state));
  }

  /** The container is gone: brings back what was lent to it and removes what does not go by itself. */
  async afterStop(state: RunningRecord): Promise<void> {
    const { paths, libc, log } = this.#deps;
    await this.#fetchLent(state);
    for (const nic of state.devices?.now.nics ?? []) {
      try {
        const before = state.devices?.lent[nic.hostName];
        if (nic.kind === 'physical' && before !== undefined) await giveBack(nic.hostName, before);
        if (nic.kind === 'veth') await removeShape(nic.hostName, paths.tag);
        await dropRoutes(nic);
        await removeVlan(nic, paths.tag);
      } catch (error) {
        log.warn('cannot clear away after an interface', { interface: nic.hostName, reason: errorText(error) });
      }
    }
    if (libc !== undefined) unmount(libc, paths.namespaceFile(state.name));
  }

  async #fetchLent(state: RunningRecord): Promise<void> {
    const { paths, log } = this.#deps;
    const file = paths.namespaceFile(state.name);
    if (!existsSync(file)) return;
    for (const nic of state.devices?.now.nics ?? []) {
      if (nic.kind !== 'physical' || existsSync(`/sys/class/net/${nic.hostName}`)) continue;
      await takeBack(nic, file).catch((error: unknown) =>
        log.warn('cannot bring back an interface', { interface: nic.hostName, reason: errorText(error) }),
      );
    }
  }
}

const isShaped = (nic: NicRun): boolean => nic.rates !== undefined || nic.macFilter === true;

/** How the interfaces look that are about to be lent. */
export function lentBy(nics: readonly NicRun[]): Readonly<Record<string, Dress>> {
  const lent: Record<string, Dress> = {};
  for (const nic of nics) {
    if (nic.kind !== 'physical' || !existsSync(`/sys/class/net/${nic.hostName}`)) continue;
    const { hwaddr, mtu } = readDress(nic.hostName);
    lent[nic.hostName] = {
      ...(nic.hwaddr === undefined || hwaddr === undefined ? {} : { hwaddr }),
      ...(mtu === undefined ? {} : { mtu }),
    };
  }
  return lent;
}

/** Throughput of block devices; a kernel without this control gets a warning, not an error. */
export function applyDiskRates(
  tree: CgroupTree,
  group: string,
  now: DeviceParts['diskRates'],
  gone: DeviceParts['diskRates'],
  warn: (reason: string) => void,
): void {
  if (now.length === 0 && gone.length === 0) return;
  const values = diskRateValues(now, gone, tree.version);
  try {
    const lacking = values.find(({ file }) => readGroupFile(tree, group, file) === undefined);
    if (lacking !== undefined) warn(`this kernel has no ${lacking.file}`);
    writeGroupFiles(tree, group, values);
  } catch (error) {
    warn(errorText(error));
  }
}

const withoutParts = (parts: DeviceParts, gone: DeviceParts): DeviceParts => ({
  ...parts,
  diskRates: parts.diskRates.filter((one) => !gone.diskRates.includes(one)),
});

/** Every container may use these anyway. */
const isUsual = (node: NodeRun): boolean =>
  node.kind === 'char' &&
  ['1:3', '1:5', '1:7', '1:8', '1:9', '5:0', '5:1', '5:2', '10:229', '10:200'].includes(`${node.major}:${node.minor}`);

function needDevices(state: RunningRecord): DeviceState {
  if (state.devices !== undefined) return state.devices;
  throw new DriverError(
    'NotSupported',
    `Container "${state.name}" was started by an older release: its devices can be changed after its next start`,
  );
}

/** Two devices at one place would hide each other. */
function checkTargets(now: DeviceParts, plug: Plug): void {
  const taken = new Map([...now.mounts, ...now.nodes].map((one) => [one.target, one.device]));
  for (const { target } of [...plug.mounts, ...plug.nodes]) {
    const owner = taken.get(target);
    if (owner === undefined) continue;
    throw new DriverError('Exists', `Device ${plug.device}: ${target} belongs to the device ${owner} already`);
  }
}
