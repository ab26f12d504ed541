// The kinds of objects that a manifest, a plan or a Terraform resource can name: one row each, without schemas (kind-schemas.ts), so that
// it loads fast. reconciler/core/kinds defines the reconciler's handling.
import {
  aliasName,
  containerName,
  networkAclName,
  networkName,
  poolName,
  profileName,
  projectName,
  serverConfigName,
  volumePathName,
  type NameRule,
} from './names.ts';

export interface KindRow {
  readonly doc: string;
  /** For messages: `storage pool`. */
  readonly label: string;
  readonly collection: string;
  readonly nameRule: NameRule;
  /** Members that name an object, joined by slashes; default: `name`. */
  readonly namedBy?: readonly string[];
  /** The list of these objects in a preseed document; absent: there is one object, and the preseed key is `config`. */
  readonly plural?: string;
  /** Their table in the observed world (reconciler/core/documents/observed.ts). */
  readonly table?: string;
  /** Other names of the kind in use. */
  readonly words: readonly string[];
  /** The project feature that gives a project its own objects of this kind; empty: always its own. Absent: objects never belong to a
   *  project. */
  readonly projectFeature?: string;
  /** Members that `gantry get` shows besides the name (reconciler/cli/verbs/objects/columns.ts). */
  readonly columns: readonly string[];
  /** API extension required for such objects. */
  readonly since?: string;
}

/** In the order of creation. */
export const kinds = {
  server_config: {
    doc: 'Settings of the server itself. The object always exists: keys are set and unset.',
    label: 'server config',
    collection: '/1.0',
    nameRule: serverConfigName,
    words: ['server', 'config'],
    columns: ['config'],
  },
  certificate: {
    doc: 'A client certificate that the server trusts. The server knows it by its fingerprint.',
    label: 'certificate',
    collection: '/1.0/certificates',
    nameRule: aliasName,
    namedBy: ['fingerprint'],
    plural: 'certificates',
    table: 'certificates',
    words: ['cert', 'trust'],
    columns: ['name', 'type'],
  },
  project: {
    doc: 'A name space for containers, images, profiles and volumes, with limits and restrictions.',
    label: 'project',
    collection: '/1.0/projects',
    nameRule: projectName,
    plural: 'projects',
    table: 'projects',
    words: [],
    columns: ['used_by', 'description'],
    since: 'projects',
  },
  storage_pool: {
    doc: 'Storage for root file systems and volumes.',
    label: 'storage pool',
    collection: '/1.0/storage-pools',
    nameRule: poolName,
    plural: 'storage_pools',
    table: 'pools',
    words: ['pool', 'pools', 'storage'],
    columns: ['driver', 'status', 'used_by', 'description'],
  },
  storage_volume: {
    doc: 'A custom volume in a storage pool. Named `POOL/VOLUME` where documents refer to it.',
    label: 'storage volume',
    collection: '/1.0/storage-pools/{pool}/volumes/custom',
    nameRule: volumePathName,
    namedBy: ['pool', 'name'],
    plural: 'storage_volumes',
    table: 'volumes',
    words: ['volume', 'volumes', 'custom_volume'],
    projectFeature: 'features.storage.volumes',
    columns: ['used_by', 'description'],
  },
  network_acl: {
    doc: 'Rules for what may pass between a network and the host or other networks. Networks name it in `security.acls`.',
    label: 'network ACL',
    collection: '/1.0/network-acls',
    nameRule: networkAclName,
    plural: 'network_acls',
    table: 'acls',
    words: ['acl', 'acls'],
    projectFeature: 'features.networks',
    columns: ['used_by', 'description'],
    since: 'network_acl',
  },
  network: {
    doc: 'A managed bridge.',
    label: 'network',
    collection: '/1.0/networks',
    nameRule: networkName,
    plural: 'networks',
    table: 'networks',
    words: ['bridge'],
    projectFeature: 'features.networks',
    columns: ['type', 'managed', 'used_by', 'description'],
  },
  profile: {
    doc: 'Config and devices that containers share.',
    label: 'profile',
    collection: '/1.0/profiles',
    nameRule: profileName,
    plural: 'profiles',
    table: 'profiles',
    words: [],
    projectFeature: 'features.profiles',
    columns: ['used_by', 'description'],
  },
  image: {
    doc: 'A root file system to create containers from. Its name exists in the manifests only; the server knows the fingerprint.',
    label: 'image',
    collection: '/1.0/images',
    nameRule: aliasName,
    namedBy: ['fingerprint'],
    plural: 'images',
    table: 'images',
    words: [],
    projectFeature: 'features.images',
    columns: ['aliases', 'architecture', 'uploaded_at'],
  },
  image_alias: {
    doc: 'A name for an image.',
    label: 'image alias',
    collection: '/1.0/images/aliases',
    nameRule: aliasName,
    plural: 'image_aliases',
    table: 'aliases',
    words: ['alias', 'aliases'],
    projectFeature: 'features.images',
    columns: ['target', 'description'],
  },
  container: {
    doc: 'A system container.',
    label: 'container',
    collection: '/1.0/containers',
    nameRule: containerName,
    plural: 'containers',
    table: 'containers',
    words: ['instance', 'instances', 'lxc'],
    projectFeature: '',
    columns: ['status', 'addresses', 'image', 'profiles', 'description'],
  },
} as const satisfies Record<string, KindRow>;

export type KindName = keyof typeof kinds;
/** Kinds with a list of objects on a server: all but its own config. */
export type ListedKind = {
  [K in KindName]: (typeof kinds)[K] extends { readonly table: string } ? K : never;
}[KindName];

export const kindNames = Object.keys(kinds) as readonly KindName[];
export const isKindName = (text: string): text is KindName => Object.hasOwn(kinds, text);
export const kindRow = (kind: KindName): KindRow => kinds[kind];
export const listedKinds = kindNames.filter((kind): kind is ListedKind => kindRow(kind).table !== undefined);

export const isInProject = (kind: KindName): boolean => kindRow(kind).projectFeature !== undefined;

/** The kind for a word (`storage-pools`, `pool`, `storage_pool`); undefined: none. */
export function kindOfWord(word: string): KindName | undefined {
  const plain = word.toLowerCase().replaceAll(/[-\s]/g, '_');
  return kindNames.find((kind) => {
    const { plural, words } = kindRow(kind);
    return kind === plain || plural === plain || words.includes(plain);
  });
}

/** The API name of an object: an image's fingerprint, a volume's `POOL/VOLUME`. */
export const nameOfObject = (kind: KindName, object: object): string =>
  (kindRow(kind).namedBy ?? ['name'])
    .map((member) => (object as Readonly<Record<string, string | undefined>>)[member] ?? '')
    .join('/');
