// Turns a server's lists into the records of an equal server. Data that no list shows (files, secrets, backups) is missing. Pure except for
// the generated ids.
import { randomUUID } from 'node:crypto';
import type { ConfigMap } from '../api/schema/common-schemas.ts';
import type { Container } from '../api/container/container.ts';
import { rootDisk } from '../api/devices/index.ts';
import type { Image } from '../api/image/image.ts';
import type { Snapshot } from '../api/container/snapshot.ts';
import { defaultProject, qualifiedName } from '../api/project/project-names.ts';
import { statusCodes } from '../api/status.ts';
import type { ServerContents } from '../api/server/server-contents.ts';
import { load } from '../store/load.ts';
import type { Store } from '../store/store.ts';
import { encodeDocument, recordKey } from './codec.ts';
import { ownedKey } from './record-names.ts';
import type { ContainerDocument, Documents, ImageDocument, Kind, SnapshotDocument } from './documents.ts';
import { withoutUndefined } from '../lib/shared/without-undefined.ts';

type Put = { readonly [K in Kind]: { readonly kind: K; readonly name: string; readonly document: Documents[K] } }[Kind];

/** Fills an empty store, in as few transactions as its limits allow. */
export async function writeContents(store: Store, contents: ServerContents): Promise<void> {
  const pairs = recordsOf(contents).map(({ kind, name, document }) => ({
    key: recordKey(kind, name),
    value: encodeDocument(document),
  }));
  await load(store, pairs);
}

export function recordsOf(contents: ServerContents): readonly Put[] {
  return [
    { kind: 'server', name: 'config', document: { v: 1, config: storedConfig(contents.config) } },
    ...contents.pools.map(({ name, description, driver, config }): Put => {
      return { kind: 'pools', name, document: { v: 1, description, driver, config, lifecycle: 'ready' } };
    }),
    ...contents.acls.map(({ name, description, config, ingress, egress }): Put => {
      return { kind: 'networkAcls', name, document: { v: 1, description, config, ingress, egress } };
    }),
    ...contents.networks
      .filter(({ managed, type }) => managed && type === 'bridge')
      .map(({ name, description, config }): Put => {
        return { kind: 'networks', name, document: { v: 1, description, type: 'bridge', config, lifecycle: 'ready' } };
      }),
    ...contents.projects.map(({ name, description, config }): Put => {
      return { kind: 'projects', name, document: { v: 1, description, config, lifecycle: 'ready' } };
    }),
    ...contents.profiles.map(({ name, project, description, config, devices }): Put => {
      return { kind: 'profiles', name: nameIn(project, name), document: { v: 1, description, config, devices } };
    }),
    ...contents.images.map((image): Put => {
      return { kind: 'images', name: nameIn(image.project, image.fingerprint), document: imageOf(image) };
    }),
    ...contents.aliases.map(({ name, project, description, target }): Put => {
      return { kind: 'aliases', name: nameIn(project, name), document: { v: 1, description, target } };
    }),
    ...contents.volumes.map(({ pool, name, project, description, config }): Put => {
      const document = {
        v: 1,
        uuid: randomUUID(),
        description,
        config,
        createdAt: zeroTime,
        lifecycle: 'ready',
      } as const;
      return { kind: 'volumes', name: `${pool}/${nameIn(project, name)}`, document };
    }),
    ...contents.certificates.map(({ fingerprint, type, name, certificate }): Put => {
      return { kind: 'certificates', name: fingerprint, document: { v: 1, type, name, pem: certificate } };
    }),
    ...contents.containers.flatMap((container) => {
      const name = nameIn(container.project, container.name);
      return containerRecords(name, container, contents.snapshots[name] ?? []);
    }),
  ];
}

export const nameIn = (project: string | undefined, name: string): string =>
  qualifiedName(project ?? defaultProject, name);

const zeroTime = '0001-01-01T00:00:00Z';

/** A placeholder that no secret hashes to: it cannot reveal or match a secret. */
const storedConfig = (config: ServerContents['config']): ConfigMap =>
  Object.fromEntries(Object.entries(config).map(([key, value]) => [key, String(value)]));

export const isUp = ({ status_code: code }: Pick<Container, 'status_code'>): boolean =>
  code === statusCodes.running || code === statusCodes.frozen;

function containerRecords(name: string, container: Container, snapshots: readonly Snapshot[]): readonly Put[] {
  const uuid = randomUUID();
  const power = isUp(container) ? 'RUNNING' : 'STOPPED';
  const document: ContainerDocument = {
    v: 1,
    uuid,
    architecture: container.architecture,
    profiles: container.profiles,
    ephemeral: container.ephemeral,
    config: { ...container.config, 'volatile.last_state.power': power },
    devices: container.devices,
    description: container.description,
    createdAt: container.created_at,
    lastUsedAt: container.last_used_at,
    stateful: container.stateful,
    pool: rootDisk(container.expanded_devices)?.pool ?? '',
    lifecycle: 'ready',
  };
  return [
    { kind: 'containers', name, document },
    ...snapshots.map((snapshot): Put => {
      // Some servers put the container's name in front.
      const own = snapshot.name.slice(snapshot.name.indexOf('/') + 1);
      return { kind: 'snapshots', name: ownedKey(uuid, own), document: snapshotOf(snapshot) };
    }),
  ];
}

function snapshotOf(snapshot: Snapshot): SnapshotDocument {
  return {
    v: 1,
    architecture: snapshot.architecture,
    profiles: snapshot.profiles,
    ephemeral: snapshot.ephemeral,
    config: snapshot.config,
    devices: snapshot.devices,
    description: snapshot.description,
    createdAt: snapshot.created_at,
    lastUsedAt: snapshot.last_used_at,
    stateful: snapshot.stateful,
    expiresAt: snapshot.expires_at,
    lifecycle: 'ready',
  };
}

function imageOf(image: Image): ImageDocument {
  return {
    v: 1,
    architecture: image.architecture,
    filename: image.filename,
    properties: image.properties,
    public: image.public,
    autoUpdate: image.auto_update,
    cached: image.cached,
    sizeBytes: image.size,
    createdAt: image.created_at,
    expiresAt: image.expires_at,
    lastUsedAt: image.last_used_at,
    uploadedAt: image.uploaded_at,
    split: false,
    ...withoutUndefined({ source: image.update_source }),
    lifecycle: 'ready',
  };
}
