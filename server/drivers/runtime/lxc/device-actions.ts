// Adds device parts to a running container and removes them: mounts, nodes, nics and disk rates. Keeps no record.
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { exec } from '../../../lib/exec.ts';
import { Revert } from '../../../lib/revert.ts';
import { failuresOf } from '../../../lib/run-all.ts';
import { noParts, type DeviceParts } from '../../device-parts.ts';
import { driverErrors } from '../../driver-error.ts';
import { readGroupFile, writeGroupFiles, type CgroupTree } from '../cgroup/cgroup.ts';
import type { MountRun, NicRun, NodeRun } from '../driver.ts';
import { findProgram } from '../host/programs.ts';
import { mapOfMount, type FileDeps } from '../mounts/container-files.ts';
import { makeNode, nodeMount, permitNode, removeNode } from '../mounts/device-nodes.ts';
import { openMountTree, unmount } from '../mounts/mapped-mounts.ts';
import { mountInside, unmountInside } from '../mounts/mount-inside.ts';
import type { NftTables } from '../../nft-tables.ts';
import { isolatePort, type NicFilters } from '../nic/filters.ts';
import {
  isPlugged,
  joinHost,
  leaveHost,
  leaveSwitch,
  plugInto,
  removeShape,
  removeVlan,
  restoreInterface,
  shape,
  unplugFrom,
} from '../nic/plug.ts';
import { dropRoutes } from '../nic/routes.ts';
import { joined, withoutParts } from './parts.ts';
import type { DeviceState, RunningRecord } from './running-record.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import { diskRateValues } from '../cgroup/disk-rate-values.ts';

export interface LiveDeps extends FileDeps {
  readonly tree: CgroupTree;
  readonly tables: NftTables;
  readonly filters: NicFilters;
}

export class DeviceActions {
  readonly #deps: LiveDeps;

  constructor(deps: LiveDeps) {
    this.#deps = deps;
  }

  async plug(state: RunningRecord, devices: DeviceState, parts: DeviceParts, revert: Revert): Promise<void> {
    for (const mount of parts.mounts) {
      await this.mount(state, devices, mount);
      revert.push(() => unmountInside(state.initPid, mount.target, false));
    }
    for (const node of parts.nodes) {
      revert.push(() => this.#removeNode(state, node));
      await this.#addNode(state, devices, node);
    }
    for (const nic of parts.nics) {
      if (nic.kind === 'physical') await this.#keepNamespace(state);
      await this.#plugNic(state, nic);
      revert.push(() => this.#unplugNic(state, devices, nic));
    }
    if (parts.diskRates.length > 0) {
      revert.push(() => this.setRates(state, devices.now, parts));
      this.setRates(state, joined(devices.now, parts), noParts);
    }
  }

  /** The filter exists before the interface. */
  async #plugNic(state: RunningRecord, nic: NicRun): Promise<void> {
    const { filters, paths } = this.#deps;
    await filters.set(nic);
    try {
      await plugInto(nic, state.initPid, paths.tag);
    } catch (error) {
      await filters.remove(nic).catch(() => {});
      throw error;
    }
    if (nic.isolated === true) isolatePort(nic);
  }

  /** Replaces rates, filter and routes of a nic. */
  async reshape(nic: NicRun, was: NicRun | undefined): Promise<void> {
    const { filters, paths } = this.#deps;
    if (nic.rates !== undefined || was?.rates !== undefined) await shape(nic, paths.tag);
    await filters.set(nic);
    isolatePort(nic);
    if (was !== undefined) await dropRoutes(was, nic);
    await joinHost(nic);
  }

  async changeNodes(
    state: RunningRecord,
    devices: DeviceState,
    old: readonly NodeRun[],
    wanted: readonly NodeRun[],
    revert: Revert,
  ): Promise<void> {
    const lacks = (list: readonly NodeRun[]) => (node: NodeRun) =>
      !list.some((one) => JSON.stringify(one) === JSON.stringify(node));
    for (const node of old.filter(lacks(wanted))) {
      revert.push(() => this.#putNodeBack(state, devices, node));
      await this.#removeNode(state, node);
    }
    for (const node of wanted.filter(lacks(old))) {
      revert.push(() => this.#removeNode(state, node));
      await this.#addNode(state, devices, node);
    }
  }

  /** A failure leaves a part of them: the undos of `revert`, if the caller runs them, plug in again what is gone. */
  async unplug(state: RunningRecord, devices: DeviceState, parts: DeviceParts, revert = new Revert()): Promise<void> {
    for (const nic of parts.nics) {
      revert.push(() => this.#plugNicBack(state, nic));
      await this.#unplugNic(state, devices, nic);
    }
    for (const mount of parts.mounts) {
      await unmountInside(state.initPid, mount.target, false);
      revert.push(() => this.mount(state, devices, mount));
      this.#letGo(state.name, devices, mount.target);
    }
    await this.changeNodes(state, devices, parts.nodes, [], revert);
    for (const node of parts.nodes) this.#letGo(state.name, devices, node.target);
    if (parts.diskRates.length > 0) this.setRates(state, withoutParts(devices.now, parts), parts);
  }

  /** One that is still plugged in may have lost its rates and routes. */
  #plugNicBack(state: RunningRecord, nic: NicRun): Promise<void> {
    return isPlugged(nic, state.initPid) ? this.reshape(nic, undefined) : this.#plugNic(state, nic);
  }

  /** LXC mounted it from a second mount on the host, which would keep the source busy. */
  #letGo(name: string, devices: DeviceState, target: string): void {
    const { libc, paths } = this.#deps;
    const index = [...devices.atStart.mounts, ...devices.atStart.nodes].findIndex((one) => one.target === target);
    if (index >= 0 && libc !== undefined) unmount(libc, paths.mappedMount(name, index));
  }

  async #unplugNic(state: RunningRecord, devices: DeviceState, nic: NicRun): Promise<void> {
    await unplugFrom(nic, state.initPid);
    await this.#afterNic(nic, devices, []);
  }

  /** The container has ended, and the interface with it. Logs failures. */
  async afterStop(nic: NicRun, devices: DeviceState | undefined): Promise<void> {
    const dropShape = (): Promise<void> | undefined => (nic.kind === 'veth' ? removeShape(nic.hostName) : undefined);
    await this.#afterNic(nic, devices, [dropShape, () => leaveSwitch(nic), () => leaveHost(nic)]);
  }

  /** The interface has left the container, so what stays of it on the host is no reason to fail. */
  async #afterNic(
    nic: NicRun,
    devices: DeviceState | undefined,
    works: readonly (() => Promise<void> | undefined)[],
  ): Promise<void> {
    const { filters, paths, log } = this.#deps;
    const before = devices?.lent[nic.hostName];
    const failures = await failuresOf([
      () => (nic.kind === 'physical' && before !== undefined ? restoreInterface(nic.hostName, before) : undefined),
      () => filters.remove(nic),
      ...works,
      () => removeVlan(nic, paths.tag),
    ]);
    for (const failure of failures)
      log.warn('cannot clean up after an interface', { interface: nic.hostName, reason: errorText(failure) });
  }

  async mount(state: RunningRecord, devices: DeviceState, mount: MountRun): Promise<void> {
    const { libc, namespaces } = this.#deps;
    if (libc === undefined) throw driverErrors.notSupported('Plugging disks into running containers needs koffi (npm)');
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
    await this.mount(state, devices, nodeMount(node, file));
  }

  /** One that is still mounted must not be mounted twice. */
  async #putNodeBack(state: RunningRecord, devices: DeviceState, node: NodeRun): Promise<void> {
    await unmountInside(state.initPid, node.target, false);
    await this.#addNode(state, devices, node);
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

  /** Lifts rates of the devices in `gone` that `now` does not name. */
  setRates(state: RunningRecord, now: DeviceParts, gone: DeviceParts): void {
    const { tree, paths, log } = this.#deps;
    applyDiskRates(tree, paths.group(state.name), now.diskRates, gone.diskRates, (reason) =>
      log.warn('disk rates cannot be set', { container: state.name, reason }),
    );
  }

  /** A host interface in a vanishing namespace could vanish with it, or return under another name. */
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
}

/** Nodes that every container may use. */
const isUsual = (node: NodeRun): boolean =>
  node.kind === 'char' &&
  ['1:3', '1:5', '1:7', '1:8', '1:9', '5:0', '5:1', '5:2', '10:229', '10:200'].includes(`${node.major}:${node.minor}`);

/** A kernel without this control causes a warning, not a failure. */
function applyDiskRates(
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
