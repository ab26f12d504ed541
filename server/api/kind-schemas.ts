// The wire form of each kind's objects: for reading, creating and writing.
import type { Static, TSchema } from 'typebox';
import { Project, ProjectCreate, ProjectPut } from './project/project.ts';
import { Container, ContainerCreate, ContainerPut } from './container/container.ts';
import { Profile, ProfileCreate, ProfilePut } from './container/profile.ts';
import { Image, ImageAlias, ImageAliasCreate, ImageAliasPut, ImageCreate, ImagePut } from './image/image.ts';
import type { KindName } from './kinds.ts';
import { NetworkAcl, NetworkAclCreate, NetworkAclPut } from './network/network-acl.ts';
import { Network, NetworkCreate, NetworkPut } from './network/network.ts';
import { Certificate, CertificateCreate, CertificatePut } from './server/certificate.ts';
import { ServerDocument, ServerDocumentPut } from './server/server-document.ts';
import { StoragePool, StoragePoolCreate, StoragePoolPut } from './storage/pool.ts';
import { PooledVolumeCreate } from './storage/pooled-volume.ts';
import { StorageVolume, StorageVolumePut } from './storage/volume.ts';

export interface KindSchemas {
  readonly object: TSchema;
  readonly create: TSchema;
  readonly put: TSchema;
  /** Members of `create` that no document has: the server sets them, or they describe no desired state. */
  readonly omitted?: readonly string[];
  /** Keys that a document needs besides its name; default: those that `create` needs. */
  readonly required?: readonly string[];
}

export const kindSchemas = {
  server_config: { object: ServerDocument, create: ServerDocumentPut, put: ServerDocumentPut },
  certificate: {
    object: Certificate,
    create: CertificateCreate,
    put: CertificatePut,
    omitted: ['password', 'token'],
    required: ['certificate'],
  },
  project: { object: Project, create: ProjectCreate, put: ProjectPut },
  storage_pool: { object: StoragePool, create: StoragePoolCreate, put: StoragePoolPut },
  storage_volume: { object: StorageVolume, create: PooledVolumeCreate, put: StorageVolumePut },
  network_acl: { object: NetworkAcl, create: NetworkAclCreate, put: NetworkAclPut },
  network: { object: Network, create: NetworkCreate, put: NetworkPut, omitted: ['managed'] },
  profile: { object: Profile, create: ProfileCreate, put: ProfilePut },
  image: {
    object: Image,
    create: ImageCreate,
    put: ImagePut,
    omitted: ['filename', 'compression_algorithm', 'copy_aliases'],
    required: [],
  },
  image_alias: { object: ImageAlias, create: ImageAliasCreate, put: ImageAliasPut },
  container: {
    object: Container,
    create: ContainerCreate,
    put: ContainerPut,
    omitted: ['stateful'],
    required: [],
  },
} as const satisfies Record<KindName, KindSchemas>;

type Schemas = typeof kindSchemas;
/** The client adds the pool to the server's answer for a volume. */
type AddedMembers = { readonly [K in KindName]: K extends 'storage_volume' ? { readonly pool: string } : unknown };

export type KindTypes = {
  readonly [K in KindName]: {
    readonly object: Static<Schemas[K]['object']> & AddedMembers[K];
    readonly create: Static<Schemas[K]['create']>;
    readonly put: Static<Schemas[K]['put']>;
  };
};
