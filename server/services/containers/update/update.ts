// Changes a container's own settings by PUT and PATCH, and applies them to a running one.
import type { ConfigMap, DeviceMap } from '../../../api/schema/common-schemas.ts';
import { containerConfigKey, effectOfContainerKey, isVolatile } from '../../../api/container/container-config.ts';
import type { ContainerPut } from '../../../api/container/container.ts';
import { errors } from '../../../api/errors.ts';
import type { Operation } from '../../../api/operation.ts';
import { logFailure } from '../../../lib/log.ts';
import { failuresOf } from '../../../lib/run-all.ts';
import type { ContainerDocument } from '../../../records/documents.ts';
import type { Caller } from '../../shared/caller.ts';
import { checkIfMatch, etagOf } from '../../shared/etag.ts';
import { containersWith } from '../../shared/used-by.ts';
import { expand, type ExpandedSettings, isServerKey, nicNetworks } from '../../shared/expand.ts';
import { mergeConfig, mergeDevices, replaceConfig, replaceDevices } from '../../shared/patch.ts';
import { claimsOf, newClaims } from '../../networks/nic-addresses.ts';
import {
  checkDraft,
  knownArchitecture,
  requirePlaces,
  requireProfiles,
  withHardwareAddresses,
} from '../shared/draft.ts';
import type { ContainerDeps } from '../deps.ts';
import { refuseSources } from '../devices/block-sources.ts';
import type { StateDeps } from '../shared/state-deps.ts';
import { restoreSnapshot } from '../snapshots/restore.ts';
import { anyContainer, lockOf, readyContainer } from '../../shared/find-container.ts';
import { containerUrl } from '../../../api/project/project-names.ts';
import type { Reserve } from '../shared/id-maps.ts';
import type { NetworkHosts } from '../../networks/network-hosts.ts';
import { limitRoot, rootSize } from '../../storage/root-size.ts';
import type { ContainerEntry } from '../../shared/container-view.ts';
import { profilesOf } from '../../shared/project-scope.ts';
import { renewedInstanceId } from '../shared/instance-id.ts';
import { withoutUndefined } from '../../../lib/shared/without-undefined.ts';

type UpdateDeps = Pick<
  ContainerDeps,
  | 'records'
  | 'runtime'
  | 'running'
  | 'guests'
  | 'pools'
  | 'idMaps'
  | 'operations'
  | 'events'
  | 'locks'
  | 'view'
  | 'maas'
  | 'log'
  | 'paths'
> & { readonly hosts: NetworkHosts };

/** PUT: checks and If-Match come before the operation starts, so that both answer at once. `restore` restores a snapshot instead. */
export async function putContainer(
  deps: StateDeps,
  caller: Caller,
  name: string,
  body: ContainerPut,
  ifMatch: string | undefined,
): Promise<Operation> {
  await checkDevices(deps, name, body);
  const { restore = '' } = body;
  if (restore !== '') return restoreSnapshot(deps, caller, name, { ...body, restore }, ifMatch);
  const entry = readyContainer(deps.records, name);
  checkIfMatch(ifMatch, etagOf.container(entry.document), 'container', name);
  const wanted = replaced(deps, name, entry.document, body);
  try {
    deps.idMaps.check(name, wanted);
  } catch (error) {
    // No operation will record the addresses that it claims.
    deps.hosts.claimed.delete(name);
    throw error;
  }
  return deps.operations.start({
    description: 'Updating container',
    resources: { containers: [containerUrl(name)] },
    run: () => change(deps, caller, name, ifMatch, (document) => replaced(deps, name, document, body)),
  });
}

/** PATCH: done when it resolves. */
export async function patchContainer(
  deps: UpdateDeps,
  caller: Caller,
  name: string,
  body: ContainerPut,
  ifMatch: string | undefined,
): Promise<void> {
  await checkDevices(deps, name, body);
  if ((body.restore ?? '') !== '') throw errors.badRequest('restore is only possible with PUT');
  await change(deps, caller, name, ifMatch, (document) => merged(deps, name, document, body));
}

/** Changes devices and the root volume. `decide` gets the record under the lock. */
export async function changeRoot(
  deps: UpdateDeps,
  caller: Caller,
  name: string,
  decide: (document: ContainerDocument) => Required<Pick<ContainerDocument, 'devices' | 'volume'>>,
): Promise<void> {
  await change(deps, caller, name, undefined, (document) => {
    const { devices, volume } = decide(document);
    return { ...merged(deps, name, document, { devices }), volume };
  });
}

function checkDevices(deps: UpdateDeps, name: string, { devices, profiles }: ContainerPut): Promise<void> {
  const { document } = anyContainer(deps.records, name);
  return refuseSources(deps, name, { profiles: profiles ?? [], devices: replaceDevices(devices) }, document);
}

async function change(
  deps: UpdateDeps,
  caller: Caller,
  name: string,
  ifMatch: string | undefined,
  next: (document: ContainerDocument) => ContainerDocument,
): Promise<void> {
  await deps.locks.run(lockOf(name), () =>
    deps.idMaps.reserving(async (reserve) => {
      const original = readyContainer(deps.records, name);
      const before = deps.view.expanded(original);
      const recording = deps.records.retry((changes) => {
        const { document } = readyContainer(deps.records, name);
        checkIfMatch(ifMatch, etagOf.container(document), 'container', name);
        const wanted = next(document);
        requireProfiles(deps.records, changes, name, wanted);
        requirePlaces(deps.records, changes, name, wanted);
        changes.put('containers', name, reserve(name, wanted));
      });
      await recording.finally(() => deps.hosts.claimed.delete(name));
      await applyUpdate(deps, name, original, before, reserve);
      const after = deps.view.expanded(readyContainer(deps.records, name));
      await deps.hosts.refresh([...nicNetworks(before.devices), ...nicNetworks(after.devices)]);
    }),
  );
  deps.events.lifecycle('container-updated', containerUrl(name), caller);
}

/** A change that cannot be applied to the running container is not recorded: it is rolled back as a whole. */
async function applyUpdate(
  deps: UpdateDeps,
  name: string,
  original: ContainerEntry,
  before: { readonly config: ConfigMap; readonly devices: DeviceMap },
  reserve: Reserve,
): Promise<void> {
  try {
    await deps.maas.follow(name);
    await applyRootSize(deps, name, before.devices, { mustHold: true });
    await applyLive(deps, name, before.config);
    await deps.running.apply(name, before.devices);
  } catch (error) {
    const { devices: refused } = deps.view.expanded(readyContainer(deps.records, name));
    const failures = await failuresOf([
      () => recordAgain(deps, name, original, reserve),
      ...followRecord(deps, name, refused),
    ]);
    failures.forEach(logFailure(deps.log, `Taking back the change of ${name}`));
    throw error;
  }
}

function recordAgain(deps: UpdateDeps, name: string, original: ContainerEntry, reserve: Reserve): Promise<void> {
  const { architecture, profiles, ephemeral, config, devices, description, volume } = original.document;
  return deps.records.retry((changes) => {
    const { volume: _changed, ...document } = readyContainer(deps.records, name).document;
    const settings = { architecture, profiles, ephemeral, config, devices, description };
    const previous = { ...document, ...settings, ...withoutUndefined({ volume }) };
    changes.put('containers', name, reserve(name, previous));
  });
}

/** Host and container become as the record says, whatever it says. `refused`: the devices that could not be applied. */
function followRecord(deps: UpdateDeps, name: string, refused: DeviceMap): readonly (() => Promise<void>)[] {
  const now = (): ExpandedSettings => deps.view.expanded(readyContainer(deps.records, name));
  return [
    () => deps.hosts.refresh(nicNetworks(now().devices)),
    async () => {
      if (deps.runtime.probe(name).status !== 'stopped') await deps.runtime.updateLimits(name, now().config);
    },
    () => deps.guests.apply(name),
    () => applyRootSize(deps, name, refused),
    () => deps.maas.followLater(name),
  ];
}

/** Applies changed limits and kernel modules of the expanded config to a running container. */
export async function applyLive(
  deps: Pick<ContainerDeps, 'records' | 'runtime' | 'view' | 'guests'>,
  name: string,
  before: Readonly<Record<string, string>>,
): Promise<void> {
  const entry = deps.records.containers.get(name);
  if (entry === undefined || deps.runtime.probe(name).status === 'stopped') return;
  const { config } = deps.view.expanded(entry);
  const keys = new Set([...Object.keys(before), ...Object.keys(config)]);
  const changed = [...keys].some((key) => effectOfContainerKey(key) === 'live' && before[key] !== config[key]);
  if (changed) await deps.runtime.updateLimits(name, config);
  if (before['security.devlxd'] !== config['security.devlxd']) await deps.guests.apply(name);
}

/** Resizes the root disk at once, running or not. */
export async function applyRootSize(
  deps: Pick<ContainerDeps, 'records' | 'pools' | 'view'>,
  name: string,
  before: DeviceMap,
  how: { readonly mustHold?: boolean } = {},
): Promise<void> {
  const entry = deps.records.containers.get(name);
  if (entry === undefined) return;
  const { devices } = deps.view.expanded(entry);
  if (rootSize(before) !== rootSize(devices)) await limitRoot(deps.pools, entry.document.pool, name, devices, how);
}

function replaced(deps: UpdateDeps, name: string, document: ContainerDocument, body: ContainerPut): ContainerDocument {
  return finish(deps, name, document, {
    ...document,
    // A missing or empty architecture keeps the container's own, as on LXD.
    architecture: knownArchitecture(body.architecture, document.architecture),
    profiles: body.profiles ?? [],
    config: withoutOthersAddresses(deps, name, replaceConfig(body.config, containerConfigKey, document.config)),
    devices: replaceDevices(body.devices),
    ephemeral: body.ephemeral ?? false,
    description: body.description ?? '',
  });
}

/** A refresh sends the original's whole config: its addresses are not meant for the copy. */
function withoutOthersAddresses({ records }: Pick<UpdateDeps, 'records'>, name: string, config: ConfigMap): ConfigMap {
  const isAddress = (key: string): boolean => /^volatile\..+\.hwaddr$/.test(key);
  const isOthers = ([key, value]: readonly [string, string]): boolean =>
    isAddress(key) &&
    containersWith(records, 'hwaddr', value.toLowerCase()).some(
      (other) => other.name !== name && other.document.config[key] === value,
    );
  return Object.fromEntries(Object.entries(config).filter((entry) => !isOthers(entry)));
}

function merged(deps: UpdateDeps, name: string, document: ContainerDocument, body: ContainerPut): ContainerDocument {
  return finish(deps, name, document, {
    ...document,
    architecture: knownArchitecture(body.architecture, document.architecture),
    profiles: body.profiles ?? document.profiles,
    config: mergeConfig(document.config, body.config, containerConfigKey),
    devices: mergeDevices(document.devices, body.devices),
    ephemeral: body.ephemeral ?? document.ephemeral,
    description: body.description ?? document.description,
  });
}

/** Restores the server's keys (a client's copy may be old) and checks the result: a key that no server wrote is an error. Hardware
 *  addresses may be chosen; server-kept keys of a device are removed with the device. */
function finish(
  deps: UpdateDeps,
  name: string,
  before: ContainerDocument,
  wanted: ContainerDocument,
): ContainerDocument {
  const profileOf = profilesOf(deps.records, name);
  const [then, now] = [expand(before, profileOf), expand(wanted, profileOf)];
  const [had, has] = [then.devices, now.devices];
  const isOfLostDevice = (key: string): boolean => {
    const device = /^volatile\.(.+)\.(hwaddr|name|host_name|ipv[46]\.address)$/.exec(key)?.[1];
    return device !== undefined && device in had && !(device in has);
  };
  const chosen = Object.entries(wanted.config).filter(
    ([key]) => !isServerKey(key) || (/^volatile\..+\.hwaddr$/.test(key) && !isOfLostDevice(key)),
  );
  const kept = Object.entries(before.config).filter(([key]) => isServerKey(key) && !isOfLostDevice(key));
  const added = Object.entries(wanted.config).filter(([key]) => isVolatile(key) && !(key in before.config));
  checkDraft(deps, name, { ...wanted, config: Object.fromEntries([...added, ...chosen]) }, before);
  checkImageKeys(name, before.config, wanted.config);
  deps.hosts.refuseUseless(name, has, had);
  const config = renewedInstanceId(Object.fromEntries([...kept, ...chosen]), then, now);
  const [known, after] = [claimsOf(name, had, before.config), claimsOf(name, has, config)];
  const claims = newClaims(known, after);
  deps.hosts.claim(
    name,
    claims,
    after.filter((claim) => !claims.includes(claim)),
  );
  return { ...wanted, config: withHardwareAddresses(deps.records, config, has) };
}

/** The image's properties at the creation are read-only (spec 2.5). */
function checkImageKeys(name: string, before: ConfigMap, wanted: ConfigMap): void {
  const problems = Object.entries(wanted)
    .filter(([key, value]) => key.startsWith('image.') && before[key] !== value)
    .map(([key]) => ({
      path: `config.${key}`,
      message: `${key} is copied from the image and cannot be changed: use user.* for keys of your own`,
    }));
  if (problems.length > 0) throw errors.invalid(`container ${name}`, problems);
}
