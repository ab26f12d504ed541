// Creates a container from an image, as a copy or empty: a saga makes volume and record.
import { randomUUID } from 'node:crypto';
import type { ContainerCreate, ContainerSource } from '../../../api/container/container.ts';
import { type ConfigMap, never } from '../../../api/schema/common-schemas.ts';
import { containerConfigKey } from '../../../api/container/container-config.ts';
import { errors } from '../../../api/errors.ts';
import { applyInstanceType } from '../../../api/container/instance-type.ts';
import type { Operation } from '../../../api/operation.ts';
import type { VolumeSource } from '../../../drivers/storage/driver.ts';
import type { OperationHandle } from '../../../operations/running-operation.ts';
import type { ContainerDocument, RootVolumeDocument } from '../../../records/documents.ts';
import type { Records } from '../../../records/records.ts';
import type { Caller } from '../../shared/caller.ts';
import { remoteImageOf, type RemoteSource } from '../../images/remote-source.ts';
import { expand, isServerKey, nicNetworks } from '../../shared/expand.ts';
import { replaceConfig, replaceDevices } from '../../shared/patch.ts';
import { architectureOf, checkArchitecture, checkDraft, freeName, withHardwareAddresses } from '../shared/draft.ts';
import { applyTemplateKey } from '../files/apply-templates.ts';
import { copyOrigin, copyVolumeSource, type CopyFrom } from './copy.ts';
import type { ContainerDeps } from '../deps.ts';
import { refuseSources } from '../devices/block-sources.ts';
import { lockOf } from '../../shared/find-container.ts';
import { containerUrl, plainName, qualifiedName } from '../../../api/project/project-names.ts';
import { volumeCopy } from '../../storage/root-volume.ts';
import { idMapKeys } from '../shared/id-maps.ts';
import { claimsOf, type Claim } from '../../networks/nic-addresses.ts';
import type { NetworkHosts } from '../../networks/network-hosts.ts';
import type { SnapshotEntry } from '../shared/snapshot-records.ts';
import { withoutHostKeys } from '../../limits/volatile.ts';
import { createContainerSaga, type CreateParams } from './container-create.ts';
import { profilesOf } from '../../shared/project-scope.ts';
import { withNewInstanceId } from '../shared/instance-id.ts';
import { unsyncedMark } from './unsynced-files.ts';

type CreateDeps = Pick<
  ContainerDeps,
  | 'records'
  | 'pools'
  | 'images'
  | 'pulls'
  | 'idMaps'
  | 'operations'
  | 'sagas'
  | 'events'
  | 'locks'
  | 'clock'
  | 'architectures'
  | 'maas'
  | 'paths'
> & { readonly hosts: NetworkHosts };

/** POST /1.0/containers. All refusals come before the operation starts. */
export async function createContainer(deps: CreateDeps, caller: Caller, body: ContainerCreate): Promise<Operation> {
  const wished = qualifiedName(caller.project, body.name ?? '');
  const profiles = body.source.type === 'copy' ? [] : (body.profiles ?? ['default']);
  await refuseSources(deps, wished, { profiles, devices: replaceDevices(body.devices) });
  const name = freeName(deps.records, caller.project, body.name);
  const remote = remoteImageOf(body.source);
  if (remote !== undefined) return createFromRemote(deps, caller, name, body, remote);
  return deps.operations.start({
    description: 'Creating container',
    resources: resourcesOf(caller, name, body.source),
    run: prepareContainer(deps, caller, name, body),
  });
}

/** The new container first, then the original of a copy. */
function resourcesOf(caller: Caller, name: string, source: ContainerSource): NonNullable<Operation['resources']> {
  if (source.type !== 'copy') return { containers: [containerUrl(name)] };
  const [original = '', snapshot] = (source.source ?? '').split('/');
  const project = source.project || caller.project;
  const containers = [containerUrl(name), containerUrl(qualifiedName(project, original))];
  return snapshot === undefined
    ? { containers }
    : { containers, snapshots: [containerUrl(qualifiedName(project, original), 'snapshots', snapshot)] };
}

/** Refusals that do not depend on the image come before it is fetched. */
function createFromRemote(
  deps: CreateDeps,
  caller: Caller,
  name: string,
  body: ContainerCreate,
  remote: RemoteSource,
): Operation {
  draftDocument(deps, name, body, { base: {}, locks: [] });
  return deps.operations.start({
    description: 'Creating container',
    resources: { containers: [containerUrl(name)] },
    mayCancel: true,
    run: async (handle, signal) => {
      const report = (metadata: Readonly<Record<string, unknown>>): void => handle.update(metadata);
      const fingerprint = await deps.pulls.pullForContainer(caller, remote, report, signal);
      if (deps.records.isContainerName(name)) throw errors.exists('container', plainName(name));
      await prepareContainer(deps, caller, name, { ...body, source: { type: 'image', fingerprint } })(handle, signal);
    },
  });
}

/** Throws all refusals; the returned function does the work. */
function prepareContainer(
  deps: CreateDeps,
  caller: Caller,
  name: string,
  body: ContainerCreate,
): (handle: OperationHandle, signal: AbortSignal) => Promise<void> {
  const plan = (): Plan => planContainer(deps, caller, name, body);
  const planned = plan();
  const saga = createContainerSaga(deps);
  return (handle, signal) =>
    deps.locks.runAll([lockOf(name), ...planned.origin.locks], async () => {
      // The original of a copy may have changed while this waited for it.
      const { origin, params } = planned.origin.from === undefined ? planned : plan();
      const { document } = params;
      const context = { signal, progress: (metadata: Record<string, unknown>) => handle.update(metadata) };
      const record = (): Promise<void> =>
        deps.idMaps.reserving((reserve) =>
          deps.sagas.run(saga, { ...params, document: reserve(name, document) }, context),
        );
      const make = (): Promise<void> =>
        deps.hosts.claiming(name, ownHardware(deps.records, name, document, body.source), () =>
          deps.maas.reserving(name, document, record),
        );
      await (origin.image === undefined ? make() : deps.images.using(origin.image, document.pool, signal, make));
      const { devices } = expand(document, profilesOf(deps.records, name));
      await deps.hosts.refresh(nicNetworks(devices));
      deps.events.lifecycle('container-created', containerUrl(name), caller);
    });
}

interface Plan {
  readonly origin: Origin;
  readonly params: CreateParams;
}

function planContainer(deps: CreateDeps, caller: Caller, name: string, body: ContainerCreate): Plan {
  const origin = findOrigin(deps, caller.project, body.source);
  const { from, snapshots = [], volume = { kind: 'empty' } } = origin;
  const draft = draftDocument(deps, name, body, origin);
  deps.idMaps.check(name, draft);
  const source = from === undefined ? volume : copyVolumeSource(deps.pools, from, draft.pool);
  const document = { ...draft, ...unsyncedMark(deps.records, draft.pool, source) };
  const copied = from === undefined ? {} : { copied: { from, snapshots } };
  return { origin, params: { name, document, source, ...copied } };
}

interface Origin {
  /** Absent for a copy, whose source depends on the target pool. */
  readonly volume?: VolumeSource;
  /** Initial config, devices and profiles of the new container. */
  readonly base: Partial<Pick<ContainerDocument, 'profiles' | 'config' | 'devices' | 'architecture'>>;
  readonly locks: readonly string[];
  readonly image?: string;
  readonly from?: CopyFrom;
  readonly written?: RootVolumeDocument | undefined;
  readonly snapshots?: readonly SnapshotEntry[];
}

function findOrigin(
  deps: Pick<CreateDeps, 'records' | 'images' | 'idMaps'>,
  project: string,
  source: ContainerSource,
): Origin {
  switch (source.type) {
    case 'none':
      return { volume: { kind: 'empty' }, base: {}, locks: [] };
    case 'image':
      return imageOrigin(deps, project, source);
    case 'copy':
      return copyOrigin(deps, project, source);
    default:
      throw errors.invalid('container', [
        { path: 'source.type', message: `must be image, copy, migration or none, is ${JSON.stringify(source.type)}` },
      ]);
  }
}

function imageOrigin(deps: Pick<CreateDeps, 'images'>, project: string, source: ContainerSource): Origin {
  const { image, document } = deps.images.resolve(project, source);
  const inherited = Object.fromEntries(
    Object.entries(document.properties).map(([key, value]) => [`image.${key}`, value]),
  );
  return {
    volume: { kind: 'image', image: deps.images.files(image) },
    base: {
      architecture: document.architecture,
      config: { ...inherited, 'volatile.base_image': plainName(image), [applyTemplateKey]: 'create' },
    },
    locks: [],
    image,
  };
}

function draftDocument(deps: CreateDeps, name: string, body: ContainerCreate, origin: Origin): ContainerDocument {
  const sent = withoutHostKeys(deps.records, name, sizedConfig(body), body.source.type === 'copy');
  const devices = { ...origin.base.devices, ...replaceDevices(body.devices) };
  const draft = {
    architecture:
      body.source.type === 'none'
        ? checkArchitecture(body.architecture, deps.architectures)
        : architectureOf(body.architecture, origin.base.architecture, deps.architectures),
    profiles: body.profiles ?? origin.base.profiles ?? ['default'],
    config: { ...origin.base.config, ...sent },
    devices,
  };
  // image.* may be inherited but not set by users: the user's keys are checked, the server's are not.
  const userConfig = Object.fromEntries(
    Object.entries(draft.config).filter(([key]) => !isServerKey(key) || key in sent),
  );
  const { pool } = checkDraft(deps, name, { ...draft, config: userConfig });
  const expanded = expand(draft, profilesOf(deps.records, name));
  deps.hosts.refuseUseless(name, expanded.devices);
  deps.hosts.refuseTaken(name, ownHardware(deps.records, name, draft, body.source));
  return {
    v: 1,
    uuid: randomUUID(),
    ...draft,
    config: withHardwareAddresses(
      deps.records,
      withNewInstanceId({ ...ownersOfFiles(origin), ...draft.config }),
      expanded.devices,
    ),
    ephemeral: body.ephemeral ?? false,
    description: body.description ?? '',
    createdAt: deps.clock.timestamp(),
    lastUsedAt: never.started,
    stateful: false,
    pool,
    ...volumeCopy(origin.written),
    lifecycle: 'ready',
  };
}

/** A copy has the owners of its original's files, also if they are not recorded. */
const ownersOfFiles = ({ from }: Origin): ConfigMap => (from === undefined ? { [idMapKeys.files]: '[]' } : {});

/** Hardware addresses that must be free. A copy may have the original's: only one of the two can be up. */
function ownHardware(
  records: Records,
  name: string,
  draft: Pick<ContainerDocument, 'profiles' | 'config' | 'devices'>,
  { type }: ContainerSource,
): readonly Claim[] {
  if (type === 'copy') return [];
  const { devices, config } = expand(draft, profilesOf(records, name));
  return claimsOf(name, devices, config).filter(({ property }) => property === 'hwaddr');
}

/** The config sent, over the limits of the instance type. */
function sizedConfig(body: ContainerCreate): Record<string, string> {
  const sent = replaceConfig(body.config, containerConfigKey);
  if (body.instance_type === undefined || body.instance_type === '') return sent;
  const sized = applyInstanceType(body.instance_type, sent);
  if (typeof sized === 'string') throw errors.invalid('container', [{ path: 'instance_type', message: sized }]);
  return sized;
}
