// Where each kind of object lives in the API, and its types; a light twin of server/api/kinds.ts that loads no schemas.
import type { Certificate, CertificateCreate, CertificatePut } from '../api/certificate.ts';
import type { Container, ContainerCreate, ContainerPut } from '../api/container.ts';
import type { Image, ImageAlias, ImageAliasCreate, ImageAliasPut, ImageCreate, ImagePut } from '../api/image.ts';
import type { Network, NetworkCreate, NetworkPut } from '../api/network.ts';
import type { StoragePool, StoragePoolCreate, StoragePoolPut } from '../api/pool.ts';
import type { Profile, ProfileCreate, ProfilePut } from '../api/profile.ts';

export interface KindTypes {
  readonly container: { readonly object: Container; readonly create: ContainerCreate; readonly put: ContainerPut };
  readonly profile: { readonly object: Profile; readonly create: ProfileCreate; readonly put: ProfilePut };
  readonly network: { readonly object: Network; readonly create: NetworkCreate; readonly put: NetworkPut };
  readonly storage_pool: {
    readonly object: StoragePool;
    readonly create: StoragePoolCreate;
    readonly put: StoragePoolPut;
  };
  readonly image: { readonly object: Image; readonly create: ImageCreate; readonly put: ImagePut };
  readonly image_alias: {
    readonly object: ImageAlias;
    readonly create: ImageAliasCreate;
    readonly put: ImageAliasPut;
  };
  readonly certificate: {
    readonly object: Certificate;
    readonly create: CertificateCreate;
    readonly put: CertificatePut;
  };
}
export type ClientKind = keyof KindTypes;

export const collections = {
  container: '/1.0/containers',
  profile: '/1.0/profiles',
  network: '/1.0/networks',
  storage_pool: '/1.0/storage-pools',
  image: '/1.0/images',
  image_alias: '/1.0/images/aliases',
  certificate: '/1.0/certificates',
} as const satisfies Record<ClientKind, string>;

/** Names may hold slashes (aliases): each is one path segment. */
export const pathOf = (kind: ClientKind, name: string): string => `${collections[kind]}/${encodeURIComponent(name)}`;
