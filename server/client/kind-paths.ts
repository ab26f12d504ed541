// Where each kind of object lives in the API, and its types; a light twin of server/api/kinds.ts that loads no schemas.
import type { Certificate, CertificateCreate, CertificatePut } from '../api/server/certificate.ts';
import type { Project, ProjectCreate, ProjectPut } from '../api/cluster/cluster.ts';
import type { Container, ContainerCreate, ContainerPut } from '../api/container/container.ts';
import type { Image, ImageAlias, ImageAliasCreate, ImageAliasPut, ImageCreate, ImagePut } from '../api/image/image.ts';
import type { Network, NetworkCreate, NetworkPut } from '../api/network/network.ts';
import type { StoragePool, StoragePoolCreate, StoragePoolPut } from '../api/storage/pool.ts';
import type { PooledVolumeCreate } from '../api/storage/pooled-volume.ts';
import type { ServerDocument, ServerDocumentPut } from '../api/server/server-document.ts';
import type { StorageVolume, StorageVolumePut } from '../api/storage/volume.ts';
import type { Profile, ProfileCreate, ProfilePut } from '../api/container/profile.ts';

export interface KindTypes {
  readonly container: { readonly object: Container; readonly create: ContainerCreate; readonly put: ContainerPut };
  readonly profile: { readonly object: Profile; readonly create: ProfileCreate; readonly put: ProfilePut };
  readonly network: { readonly object: Network; readonly create: NetworkCreate; readonly put: NetworkPut };
  readonly storage_pool: {
    readonly object: StoragePool;
    readonly create: StoragePoolCreate;
    readonly put: StoragePoolPut;
  };
  /** Named `POOL/VOLUME`; `pool` is put into what lists and reads answer. */
  readonly storage_volume: {
    readonly object: StorageVolume & { readonly pool: string };
    readonly create: PooledVolumeCreate;
    readonly put: StorageVolumePut;
  };
  readonly image: { readonly object: Image; readonly create: ImageCreate; readonly put: ImagePut };
  readonly image_alias: {
    readonly object: ImageAlias;
    readonly create: ImageAliasCreate;
    readonly put: ImageAliasPut;
  };
  /** Always there, called `server`. Updates only. */
  readonly server_config: {
    readonly object: ServerDocument;
    readonly create: ServerDocumentPut;
    readonly put: ServerDocumentPut;
  };
  readonly certificate: {
    readonly object: Certificate;
    readonly create: CertificateCreate;
    readonly put: CertificatePut;
  };
  /** Only of servers with projects. */
  readonly project: { readonly object: Project; readonly create: ProjectCreate; readonly put: ProjectPut };
}
export type ClientKind = keyof KindTypes;

export const collections = {
  container: '/1.0/containers',
  profile: '/1.0/profiles',
  network: '/1.0/networks',
  storage_pool: '/1.0/storage-pools',
  storage_volume: '/1.0/storage-pools/{pool}/volumes/custom',
  image: '/1.0/images',
  image_alias: '/1.0/images/aliases',
  certificate: '/1.0/certificates',
  server_config: '/1.0',
  project: '/1.0/projects',
} as const satisfies Record<ClientKind, string>;

/** Names may hold slashes (aliases): each is one path segment. */
export const pathOf = (kind: ClientKind, name: string): string => {
  if (kind === 'server_config') return collections.server_config;
  if (kind !== 'storage_volume') return `${collections[kind]}/${encodeURIComponent(name)}`;
  const { pool, volume } = partsOfVolume(name);
  return `${volumesOf(pool)}/${encodeURIComponent(volume)}`;
};

export const volumesOf = (pool: string): string =>
  collections.storage_volume.replace('{pool}', encodeURIComponent(pool));

/** `POOL/VOLUME`. */
export function partsOfVolume(name: string): { readonly pool: string; readonly volume: string } {
  const slash = name.indexOf('/');
  return { pool: name.slice(0, Math.max(0, slash)), volume: name.slice(slash + 1) };
}
