// Checks whether a planned container may exist, collecting every problem; fills in server-kept keys (hardware addresses). Changes nothing.
import { randomBytes } from 'node:crypto';
import { architectureName } from '../../../api/image/architectures.ts';
import type { ConfigMap, DeviceMap } from '../../../api/schema/common-schemas.ts';
import { validateContainerConfig } from '../../../api/container/container-config.ts';
import { rawLxcProblems } from '../../../api/container/raw-lxc.ts';
import { hasOwnHwaddr, isDisk, isNic, rootDisk, sharedPaths, validateDevices } from '../../../api/devices/index.ts';
import { errors } from '../../../api/errors.ts';
import { containerName } from '../../../api/names.ts';
import { nearestName } from '../../../api/text/nearest-word.ts';
import type { Problem } from '../../../api/problem.ts';
import { customOnlyDrivers } from '../../../api/storage/pool-drivers.ts';
import { poolOfLimit, setLimits } from '../../../api/project/project-limits.ts';
import type { ContainerDocument } from '../../../records/documents.ts';
import type { Changes, Records } from '../../../records/records.ts';
import { containersWith } from '../../shared/used-by.ts';
import { attachedVolumes, devicePools, expand, nicNetwork, nicNetworks } from '../../shared/expand.ts';
import { generatedName } from './generated-name.ts';
import { ipFamilies, isFiltering } from '../../networks/nic-filtering.ts';
import type { Pools } from '../../storage/pools.ts';
import { limitingPools, rootSize } from '../../storage/root-size.ts';
import {
  ofProject,
  profileIn,
  profilesOf,
  projectWith,
  requireProject,
  volumeKeyIn,
} from '../../shared/project-scope.ts';
import { plainName, projectOf, qualifiedName } from '../../../api/project/project-names.ts';

export interface DraftDeps {
  readonly records: Records;
  readonly pools: Pick<Pools, 'canLimit'>;
}

type Draft = Pick<ContainerDocument, 'architecture' | 'profiles' | 'config' | 'devices'>;

/** Throws AppError badRequest with all problems. `previous`: the container before the change, whose root disk must stay put. */
export function checkDraft(
  deps: DraftDeps,
  name: string,
  draft: Draft,
  previous?: ContainerDocument,
): { readonly pool: string } {
  const { pool } = checkDescription(deps, name, draft, previous);
  checkLimits(deps.records, name, { ...draft, pool }, previous);
  return { pool };
}

/** The same, apart from limits and restrictions of its project. */
export function checkDescription(
  deps: DraftDeps,
  name: string,
  draft: Draft,
  previous?: ContainerDocument,
): { readonly pool: string } {
  const { records } = deps;
  const profileOf = profilesOf(records, name);
  const expanded = expand(draft, profileOf);
  const root = rootDisk(expanded.devices);
  const problems = [
    ...profileProblems(records, projectOf(name), draft.profiles),
    ...validateContainerConfig(draft.config, {
      profile: false,
      ...(previous === undefined ? {} : { previous: previous.config }),
    }),
    ...rawLxcProblems(draft.config, previous?.config),
    ...validateDevices(draft.devices),
    ...rootProblems(deps, projectOf(name), expanded.devices, root?.pool, previous),
    ...networkProblems(records, expanded.devices),
    ...filterProblems(records, expanded.devices),
  ];
  problems.push(...newlyShared(expanded.devices, previous && expand(previous, profileOf).devices, problems));
  if (problems.length > 0) throw errors.invalid(`container ${name}`, problems);
  return { pool: root?.pool ?? '' };
}

/** Throws AppError forbidden if a limit or restriction of its project forbids it. The guard checks again when it is recorded. */
function checkLimits(
  records: Records,
  name: string,
  draft: Draft & Pick<ContainerDocument, 'pool'>,
  previous: ContainerDocument | undefined,
): void {
  const blank = { v: 1, uuid: '', ephemeral: false, description: '', createdAt: '', lastUsedAt: '' } as const;
  const document = { ...(previous ?? { ...blank, stateful: false, lifecycle: 'ready' as const }), ...draft };
  records.check((changes) => changes.put('containers', name, document));
}

/** Problems of disks that profiles put on one path, unless reported already or present before. */
export function newlyShared(
  devices: DeviceMap,
  before: DeviceMap | undefined,
  reported: readonly Problem[] = [],
): readonly Problem[] {
  const known = new Set([...reported, ...sharedPaths(before ?? {})].map(({ path }) => path));
  return sharedPaths(devices).filter(({ path }) => !known.has(path));
}

/** The qualified name of a new container: the requested one, or a generated one. Throws AppError invalidName, exists. */
export function freeName(records: Records, project: string, asked: string | undefined): string {
  const isTaken = (plain: string): boolean => records.isContainerName(qualifiedName(project, plain));
  const plain = asked === undefined || asked === '' ? generatedName(isTaken) : asked;
  const rule = containerName(plain);
  if (rule !== undefined) throw errors.invalidName('container', plain, rule);
  if (isTaken(plain)) throw errors.exists('container', plain);
  return qualifiedName(project, plain);
}

/** First step of every creation: reserves the name, and requires everything it refers to. */
export function beginContainer(records: Records, changes: Changes, name: string, document: ContainerDocument): void {
  if (records.isContainerName(name)) throw errors.exists('container', name);
  requireProject(records, changes, name);
  requireProfiles(records, changes, name, document);
  requirePlaces(records, changes, name, document);
  changes.put('containers', name, { ...document, lifecycle: 'creating' });
}

/** The profiles that it names must exist and stay. */
export function requireProfiles(
  records: Records,
  changes: Changes,
  container: string,
  { profiles }: Pick<ContainerDocument, 'profiles'>,
): void {
  for (const profile of profiles) {
    const name = profileIn(records, projectOf(container), profile);
    if (!records.profiles.has(name)) throw errors.notFound('profile', profile);
    changes.require('profiles', name);
  }
}

/** Pools and managed networks of the container must exist and stay: none may be in deletion. */
export function requirePlaces(
  records: Records,
  changes: Changes,
  container: string,
  document: ContainerDocument,
): void {
  const { devices } = expand(document, profilesOf(records, container));
  for (const name of new Set([document.pool, ...devicePools(devices)])) {
    if (records.pools.get(name)?.document.lifecycle !== 'ready') throw errors.notFound('storage pool', name);
    changes.require('pools', name);
  }
  for (const { pool, name } of attachedVolumes(devices)) {
    const key = volumeKeyIn(records, projectOf(container), pool, name);
    if (records.volumes.get(key)?.document.lifecycle !== 'ready')
      throw errors.notFound('storage volume', `${pool}/${name}`);
    changes.require('volumes', key);
  }
  for (const name of nicNetworks(devices)) {
    const lifecycle = records.networks.get(name)?.document.lifecycle;
    // Not managed here: the start finds out whether the host has it.
    if (lifecycle === undefined) continue;
    if (lifecycle !== 'ready') throw errors.notFound('network', name);
    changes.require('networks', name);
  }
}

/** The devices with the root disk in that pool: the files' place is not the description's choice. */
export function withRootIn(
  records: Records,
  container: string,
  machine: Pick<ContainerDocument, 'profiles' | 'config' | 'devices'>,
  pool: string,
): DeviceMap {
  const { devices } = expand(machine, profilesOf(records, container));
  const root = rootDisk(devices);
  if (root?.pool === pool) return machine.devices;
  const name = root?.name ?? 'root';
  return { ...machine.devices, [name]: { ...(devices[name] ?? { type: 'disk', path: '/' }), pool } };
}

/** LXD clients send numbers and other meaningless names: then the source's architecture applies, else the host's. */
export const architectureOf = (sent: string | undefined, source: string | undefined, host: string): string =>
  architectureName(sent ?? '') ?? architectureName(source ?? '') ?? host;

export function checkArchitecture(sent: string | undefined, host: string): string {
  if (sent === undefined || sent === '') return host;
  const known = architectureName(sent);
  if (known === undefined) {
    throw errors.invalid('container', [
      { path: 'architecture', message: `${JSON.stringify(sent)} is not a known architecture` },
    ]);
  }
  return known;
}

function profileProblems(records: Records, project: string, profiles: readonly string[]): Problem[] {
  const problems: Problem[] = [];
  const seen = new Set<string>();
  for (const [index, profile] of profiles.entries()) {
    const path = `profiles.${index}`;
    if (seen.has(profile)) problems.push({ path, message: `the profile ${profile} is listed twice` });
    seen.add(profile);
    if (records.profiles.has(profileIn(records, project, profile))) continue;
    const there = ofProject(records.profiles.list(), projectWith(records, project, 'features.profiles'));
    const near = nearestName(
      profile,
      there.map((entry) => plainName(entry.name)),
    );
    problems.push({
      path,
      message: `there is no profile ${profile}${near === undefined ? '' : `; did you mean ${near}?`}`,
    });
  }
  return problems;
}

function rootProblems(
  { records, pools }: DraftDeps,
  project: string,
  devices: DeviceMap,
  pool: string | undefined,
  previous: ContainerDocument | undefined,
): Problem[] {
  if (pool === undefined || pool === '') {
    const message =
      'no root disk: give a profile or the container a device of type disk with path / and a pool, for example root: {type: disk, path: /, pool: default}';
    return [{ path: 'devices', message }];
  }
  if (previous !== undefined && previous.pool !== pool) {
    return [
      { path: 'devices', message: `the root disk is in pool ${previous.pool} and cannot move to ${pool} by an update` },
    ];
  }
  const root = rootDisk(devices);
  const driver = records.pools.get(pool)?.document.driver ?? '';
  const limit = setLimits(records.projects.get(project)?.document.config ?? {}).find(
    (key) => key === 'limits.disk' || poolOfLimit(key) === pool,
  );
  if (root !== undefined && customOnlyDrivers.includes(driver)) {
    const message = `the pool ${pool} of driver ${driver} holds custom volumes only; put the root disk in a pool of another driver`;
    return [{ path: `devices.${root.name}.pool`, message }];
  }
  // Elsewhere an ineffective size is a warning, as with LXD: here other containers rely on it.
  if (root !== undefined && limit !== undefined && rootSize(devices) !== undefined && !pools.canLimit(pool)) {
    const message = `the pool ${pool} of driver ${driver} cannot limit sizes, which ${limit} of the project ${project} needs; use ${limitingPools}`;
    return [{ path: `devices.${root.name}.size`, message }];
  }
  const unknown = Object.entries(devices)
    .filter(([, device]) => isDisk(device) && device['pool'] !== undefined && !records.pools.has(device['pool']))
    .map(([name, device]): Problem => {
      const near = nearestName(
        device['pool'] ?? '',
        records.pools.list().map((entry) => entry.name),
      );
      const hint = near === undefined ? '' : `; did you mean ${near}?`;
      return { path: `devices.${name}.pool`, message: `there is no storage pool ${device['pool']}${hint}` };
    });
  return unknown;
}

/** A parent is checked at the start; a named network is managed here. */
function networkProblems(records: Records, devices: DeviceMap): Problem[] {
  return Object.entries(devices).flatMap(([name, device]) => {
    const { network = '' } = device;
    if (!isNic(device) || network === '' || records.networks.has(network)) return [];
    const near = nearestName(
      network,
      records.networks.list().map((each) => each.name),
    );
    const hint = near === undefined ? '' : `; did you mean ${near}?`;
    return [{ path: `devices.${name}.network`, message: `there is no managed network ${network}${hint}` }];
  });
}

/** Only managed networks reserve addresses. */
function filterProblems(records: Records, devices: DeviceMap): Problem[] {
  return Object.entries(devices).flatMap(([name, properties]) => {
    const parent = nicNetwork(properties);
    if (parent === undefined || records.networks.has(parent)) return [];
    return ipFamilies
      .filter((family) => isFiltering(properties, family) && (properties[`ipv${family}.address`] ?? '') === '')
      .map((family) => ({
        path: `devices.${name}.security.ipv${family}_filtering`,
        message: `needs ipv${family}.address: ${parent} is no managed network, so no address can be reserved on it`,
      }));
  });
}

/** Adds volatile.<nic>.hwaddr for every nic without an address. */
export function withHardwareAddresses(records: Records, config: ConfigMap, devices: DeviceMap): ConfigMap {
  const added: Record<string, string> = {};
  const generated = new Set<string>();
  for (const [name, device] of Object.entries(devices)) {
    if (!isNic(device) || !hasOwnHwaddr(device)) continue;
    const key = `volatile.${name}.hwaddr`;
    if (device['hwaddr'] !== undefined || config[key] !== undefined) continue;
    added[key] = freeHardwareAddress(records, generated);
    generated.add(added[key]);
  }
  return Object.keys(added).length === 0 ? config : { ...config, ...added };
}

/** The usual prefix 00:16:3e and three random bytes that no container, and no other nic of this one, has. */
function freeHardwareAddress(records: Records, generated: ReadonlySet<string>): string {
  for (;;) {
    const address = `00:16:3e:${[...randomBytes(3)].map((byte) => byte.toString(16).padStart(2, '0')).join(':')}`;
    if (!generated.has(address) && containersWith(records, 'hwaddr', address).length === 0) return address;
  }
}
