// Checks whether a planned container may exist, collecting every problem; fills in server-kept keys (hardware addresses). Changes nothing.
import { randomBytes } from 'node:crypto';
import { architectureName } from '../../../api/image/architectures.ts';
import type { ConfigMap, DeviceMap } from '../../../api/schema/common-schemas.ts';
import { nvidiaProblems, validateContainerConfig } from '../../../api/container/container-config.ts';
import { rawLxcProblems } from '../../../api/container/raw-lxc.ts';
import { hasOwnHwaddr, isNic, rootDisk, sharedPaths, validateDevices } from '../../../api/devices/index.ts';
import { errors, checkName } from '../../../api/errors.ts';
import { containerName } from '../../../api/names.ts';
import type { Problem } from '../../../api/problem.ts';
import type { ContainerDocument } from '../../../records/documents.ts';
import type { Changes, Records } from '../../../records/records.ts';
import { containersWith } from '../../shared/used-by.ts';
import { attachedVolumes, devicePools, expand, nicNetworks } from '../../shared/expand.ts';
import { generatedName } from './generated-name.ts';
import { filterProblems, networkProblems, profileProblems, rootProblems, type DraftDeps } from './draft-problems.ts';
import { profileIn, profilesOf, requireProject, volumeKeyIn } from '../../shared/project-scope.ts';
import { projectOf, qualifiedName } from '../../../api/project/project-names.ts';

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
  const before = previous && expand(previous, profileOf);
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
  if (problems.length === 0 && nvidiaProblems(before?.config ?? {}).length === 0)
    problems.push(...nvidiaProblems(expanded.config));
  problems.push(...newlyShared(expanded.devices, before?.devices, problems));
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
  checkName('container', plain, containerName);
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

/** LXD clients send numbers and other meaningless names: then the source's architecture applies, else the host's. Both must be among those
 *  that the host runs (`hosts`, its own first): the files are for the source's. */
export function architectureOf(
  sent: string | undefined,
  source: string | undefined,
  hosts: readonly [string, ...string[]],
): string {
  const ofSource = architectureName(source ?? '') ?? hosts[0];
  mustRun(ofSource, hosts, 'source');
  const name = architectureName(sent ?? '') ?? ofSource;
  mustRun(name, hosts);
  return name;
}

/** The architecture of a new container by any of its names; that of the host for an empty one. Throws unless the host runs it. */
export function checkArchitecture(sent: string | undefined, hosts: readonly [string, ...string[]]): string {
  const name = knownArchitecture(sent, hosts[0]);
  mustRun(name, hosts);
  return name;
}

/** `own` for an empty one. */
export function knownArchitecture(sent: string | undefined, own: string): string {
  if (sent === undefined || sent === '') return own;
  const known = architectureName(sent);
  if (known !== undefined) return known;
  const message = `${JSON.stringify(sent)} is not a known architecture`;
  throw errors.invalid('container', [{ path: 'architecture', message }]);
}

function mustRun(name: string, hosts: readonly string[], path = 'architecture'): void {
  if (hosts.includes(name)) return;
  const what = path === 'source' ? `has the architecture ${name}, which` : name;
  const message = `${what} is not supported by this host; it runs ${hosts.join(' and ')}`;
  throw errors.invalid('container', [{ path, message }]);
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
