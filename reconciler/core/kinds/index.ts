// The table of kinds as the reconciler knows them; one file each.
import type { KindName } from '../../../server/api/kinds.ts';
import { addressParts, type Address } from '../documents/document.ts';
import type { Observed } from '../documents/observed.ts';
import { certificate } from './certificate.ts';
import { container } from './container.ts';
import { imageAlias } from './image-alias.ts';
import { image } from './image.ts';
import type { CoreKind } from './kind.ts';
import { networkAcl } from './network-acl.ts';
import { network } from './network.ts';
import { profile } from './profile.ts';
import { project } from './project.ts';
import { serverConfig } from './server-config.ts';
import { storagePool } from './storage-pool.ts';
import { storageVolume } from './storage-volume.ts';

export const coreKinds = {
  server_config: serverConfig,
  certificate,
  project,
  storage_pool: storagePool,
  storage_volume: storageVolume,
  network_acl: networkAcl,
  network,
  profile,
  image,
  image_alias: imageAlias,
  container,
} as const satisfies Record<KindName, CoreKind>;

export const coreKind = (kind: KindName): CoreKind => coreKinds[kind];

/** Undefined if the server does not have it. */
export function liveAt(observed: Observed, address: Address): ReturnType<CoreKind['live']> {
  const { kind, name } = addressParts(address);
  return coreKind(kind).live(observed, name);
}
