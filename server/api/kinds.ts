// The kinds of objects a manifest, a plan or a Terraform resource can name: one row each. What the reconciler does with a
// kind is in reconciler/core/kinds; this table holds only what the API says.
import type { TSchema } from 'typebox';
import { Certificate, CertificateCreate, CertificatePut } from './server/certificate.ts';
import { Container, ContainerCreate, ContainerPut } from './container/container.ts';
import { Project, ProjectCreate, ProjectPut } from './cluster/cluster.ts';
import { Image, ImageAlias, ImageAliasCreate, ImageAliasPut, ImageCreate, ImagePut } from './image/image.ts';
import {
  aliasName,
  containerName,
  networkName,
  poolName,
  profileName,
  projectName,
  serverConfigName,
  volumePathName,
  type NameRule,
} from './names.ts';
import { Network, NetworkCreate, NetworkPut } from './network/network.ts';
import { StoragePool, StoragePoolCreate, StoragePoolPut } from './storage/pool.ts';
import { Profile, ProfileCreate, ProfilePut } from './container/profile.ts';
import { PooledVolumeCreate } from './storage/pooled-volume.ts';
import { ServerDocument, ServerDocumentPut } from './server/server-document.ts';
import { StorageVolume, StorageVolumePut } from './storage/volume.ts';

export interface KindRow {
  readonly doc: string;
  /** For messages: `storage pool`. */
  readonly label: string;
  readonly collection: string;
  /** The object of a GET, with its field facts. */
  readonly object: TSchema;
  readonly create: TSchema;
  readonly put: TSchema;
  readonly nameRule: NameRule;
  /** API extension without which a server has no such objects. */
  readonly since?: string;
}

/** In the order in which they are made. */
export const kinds = {
  server_config: {
    doc: 'Settings of the server itself. Always there: keys are set and unset, nothing is made or deleted.',
    label: 'server config',
    collection: '/1.0',
    object: ServerDocument,
    create: ServerDocumentPut,
    put: ServerDocumentPut,
    nameRule: serverConfigName,
  },
  certificate: {
    doc: 'A client certificate that the server trusts. The server knows it by its fingerprint.',
    label: 'certificate',
    collection: '/1.0/certificates',
    object: Certificate,
    create: CertificateCreate,
    put: CertificatePut,
    nameRule: aliasName,
  },
  project: {
    doc: 'A name space for containers, images, profiles and volumes, with limits and restrictions.',
    label: 'project',
    collection: '/1.0/projects',
    object: Project,
    create: ProjectCreate,
    put: ProjectPut,
    nameRule: projectName,
    since: 'projects',
  },
  storage_pool: {
    doc: 'Storage for root file systems and volumes.',
    label: 'storage pool',
    collection: '/1.0/storage-pools',
    object: StoragePool,
    create: StoragePoolCreate,
    put: StoragePoolPut,
    nameRule: poolName,
  },
  storage_volume: {
    doc: 'A custom volume in a storage pool. Named `POOL/VOLUME` where documents refer to it.',
    label: 'storage volume',
    collection: '/1.0/storage-pools/{pool}/volumes/custom',
    object: StorageVolume,
    create: PooledVolumeCreate,
    put: StorageVolumePut,
    nameRule: volumePathName,
  },
  network: {
    doc: 'A managed bridge.',
    label: 'network',
    collection: '/1.0/networks',
    object: Network,
    create: NetworkCreate,
    put: NetworkPut,
    nameRule: networkName,
  },
  profile: {
    doc: 'Config and devices that containers share.',
    label: 'profile',
    collection: '/1.0/profiles',
    object: Profile,
    create: ProfileCreate,
    put: ProfilePut,
    nameRule: profileName,
  },
  image: {
    doc: 'A root file system to create containers from. Its name lives in the manifests only; the server knows the fingerprint.',
    label: 'image',
    collection: '/1.0/images',
    object: Image,
    create: ImageCreate,
    put: ImagePut,
    nameRule: aliasName,
  },
  image_alias: {
    doc: 'A name for an image.',
    label: 'image alias',
    collection: '/1.0/images/aliases',
    object: ImageAlias,
    create: ImageAliasCreate,
    put: ImageAliasPut,
    nameRule: aliasName,
  },
  container: {
    doc: 'A system container.',
    label: 'container',
    collection: '/1.0/containers',
    object: Container,
    create: ContainerCreate,
    put: ContainerPut,
    nameRule: containerName,
  },
} as const satisfies Record<string, KindRow>;

export type KindName = keyof typeof kinds;
export const kindNames = Object.keys(kinds) as readonly KindName[];
export const isKindName = (text: string): text is KindName => Object.hasOwn(kinds, text);
