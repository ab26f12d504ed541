// Changes the devices of simulated containers with the same refusals as a real runtime. Touches no host.
import { existsSync } from 'node:fs';
import { DriverError, driverErrors } from '../../driver-error.ts';
import { type DeviceParts, noParts, ownMount } from '../../device-parts.ts';
import type { LiveDevices, MountRun, Plug, RunConfig } from '../driver.ts';
import { checkNicNames } from '../nic/commands.ts';
import type { SimFaults } from './faults.ts';
import { linkMount, unlinkMount } from './mounts.ts';
import type { SimRunningRecord } from './running-record.ts';

export interface SimBook {
  need(name: string): SimRunningRecord;
  remember(state: SimRunningRecord): void;
  lock<T>(name: string, work: () => Promise<T>): Promise<T>;
}

const kinds = ['nics', 'mounts', 'nodes', 'diskRates'] as const;

export class SimLive implements LiveDevices {
  readonly #book: SimBook;
  readonly #faults: SimFaults;

  constructor(book: SimBook, faults: SimFaults) {
    this.#book = book;
    this.#faults = faults;
  }

  plugged(name: string): RunConfig['properties'] {
    return this.#book.need(name).run.properties;
  }

  parts(name: string, device: string): DeviceParts {
    const now = partsOf(this.#book.need(name).run);
    const of = <T extends { readonly device: string }>(list: readonly T[]): readonly T[] =>
      list.filter((part) => part.device === device);
    return { nics: of(now.nics), mounts: of(now.mounts), nodes: of(now.nodes), diskRates: of(now.diskRates) };
  }

  async plug(name: string, plug: Plug): Promise<void> {
    await this.#change('plug', name, (run) => {
      if (Object.hasOwn(run.properties ?? {}, plug.device)) {
        throw driverErrors.exists(`Container "${name}" has a device ${plug.device} already`);
      }
      checkPlaces(run, plug);
      return added(run, plug);
    });
  }

  async adjust(name: string, plug: Plug): Promise<void> {
    await this.#change('adjust', name, (run) => added(removed(run, plug.device), plug));
  }

  async unplug(name: string, device: string): Promise<void> {
    await this.#change('unplug', name, (run) => removed(run, device));
  }

  async show(name: string, mount: MountRun): Promise<void> {
    await this.#change('plug', name, (run) => {
      checkPlaces(run, { ...noParts, device: mount.device, properties: {}, mounts: [mount] });
      linkMount(run.rootfs, mount);
      return { ...run, mounts: [...run.mounts, mount] };
    });
  }

  async hide(name: string, target: string): Promise<void> {
    await this.#change('unplug', name, (run) => {
      const isMeant = (mount: MountRun): boolean => mount.device === ownMount && mount.target === target;
      for (const mount of run.mounts.filter(isMeant)) unlinkMount(run.rootfs, mount);
      return { ...run, mounts: run.mounts.filter((mount) => !isMeant(mount)) };
    });
  }

  shown(name: string): readonly string[] {
    return this.parts(name, ownMount).mounts.map((mount) => mount.target);
  }

  async #change(
    operation: 'plug' | 'adjust' | 'unplug',
    name: string,
    next: (run: RunConfig) => RunConfig,
  ): Promise<void> {
    await this.#book.lock(name, async () => {
      const state = this.#book.need(name);
      await this.#faults.pass(operation, name);
      this.#book.remember({ ...state, run: next(state.run) });
    });
  }
}

const partsOf = (run: RunConfig): DeviceParts => ({
  nics: run.nics,
  mounts: run.mounts,
  nodes: run.nodes ?? [],
  diskRates: run.diskRates ?? [],
});

function added(run: RunConfig, plug: Plug): RunConfig {
  const now = partsOf(run);
  const parts = Object.fromEntries(kinds.map((kind) => [kind, [...now[kind], ...plug[kind]]]));
  return { ...run, ...parts, properties: { ...run.properties, [plug.device]: plug.properties } };
}

function removed(run: RunConfig, device: string): RunConfig {
  const now = partsOf(run);
  const parts = Object.fromEntries(kinds.map((kind) => [kind, now[kind].filter((part) => part.device !== device)]));
  const { [device]: _gone, ...properties } = run.properties ?? {};
  return { ...run, ...parts, properties };
}

function checkPlaces(run: RunConfig, plug: Plug): void {
  const fail = (code: 'Exists' | 'NotFound', why: string): never => {
    throw new DriverError(code, `Device ${plug.device}: ${why}`);
  };
  for (const nic of plug.nics) {
    checkNicNames(nic);
    if (nic.name === 'lo' || run.nics.some((one) => one.name === nic.name)) {
      fail('Exists', `the container has an interface ${nic.name} already`);
    }
  }
  for (const { target } of [...plug.mounts, ...plug.nodes]) {
    const owner = [...run.mounts, ...(run.nodes ?? [])].find((one) => one.target === target);
    if (owner !== undefined) fail('Exists', `${target} belongs to the device ${owner.device} already`);
  }
  for (const { source, optional } of plug.mounts) {
    if (!optional && !existsSync(source)) fail('NotFound', `${source} does not exist on the host`);
  }
}
