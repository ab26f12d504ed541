// A stack for one server, with short typed methods that add pools, networks, images, profiles, volumes and containers. Each
// method returns the generated construct, so all its features are available; a stack may also have other constructs.
import { resolve } from 'node:path';
import { Fn, TerraformAsset, TerraformStack, Token, type IResolvable } from 'cdktn';
import type { Construct } from 'constructs';
import { limitKeys, withInterfaceNames, type Devices, type Limits } from './devices.ts';
import {
  container as containers,
  image as images,
  imageAlias,
  network as networks,
  profile as profiles,
  provider as providers,
  storagePool,
  storageVolume,
} from './generated/index.ts';

/** For a resource whose name differs from the id of its construct. */
interface Named {
  /** Name on the server; default: the id of the construct. */
  readonly name?: string;
}

export interface PoolOptions extends Named, Omit<storagePool.StoragePoolConfig, 'name' | 'driver'> {
  /** Default: `dir`. */
  readonly driver?: string;
}

export interface NetworkOptions extends Named, Omit<networks.NetworkConfig, 'name'> {
  /** Address of the bridge with its prefix, such as '10.1.0.1/24'; 'auto'; 'none'. Default: the server decides. */
  readonly ipv4?: string;
  readonly ipv6?: string;
  /** Whether containers reach other networks through the host's address, for each address family given here. */
  readonly nat?: boolean | IResolvable;
}

export interface ImageOptions extends Named, Omit<images.ImageConfig, 'source'> {
  /**
   * An image file, or its root file system when `metadata` is given: a path, relative to the working directory, or an asset of this
   * stack, which the synthesized output includes.
   */
  readonly file?: string | TerraformAsset;
  readonly metadata?: string | TerraformAsset;
  /** Any source other than a local file. */
  readonly source?: images.ImageSource;
}

export interface ProfileOptions extends Named, Omit<profiles.ProfileConfig, 'name' | 'devices'> {
  readonly limits?: Limits;
  readonly devices?: Devices | IResolvable;
}

export interface VolumeOptions extends Named, Omit<storageVolume.StorageVolumeConfig, 'name' | 'pool'> {}

export interface ContainerOptions extends Named, Omit<containers.ContainerConfig, 'name' | 'devices' | 'profiles'> {
  /** The image to make it from: one of this stack, or the alias or fingerprint of one on the server. */
  readonly image?: imageAlias.ImageAlias | string;
  /** In order, later ones win. */
  readonly profiles?: readonly (profiles.Profile | string)[];
  readonly limits?: Limits;
  readonly devices?: Devices | IResolvable;
}

/** Settings of the provider; missing ones come from GANTRY_* in the environment of Terraform or gantry. */
export type ServerOptions = Omit<providers.GantryProviderConfig, 'alias'>;

export class GantryStack extends TerraformStack {
  readonly provider: providers.GantryProvider;

  constructor(scope: Construct, id: string, server: ServerOptions = {}) {
    super(scope, id);
    this.provider = new providers.GantryProvider(this, 'gantry', server);
  }

  pool(id: string, { name = id, driver = 'dir', ...others }: PoolOptions = {}): storagePool.StoragePool {
    return new storagePool.StoragePool(this, `pool-${id}`, { ...others, name, driver });
  }

  network(id: string, options: NetworkOptions = {}): networks.Network {
    const { name = id, ipv4, ipv6, nat, config, ...others } = options;
    const keys = { ...familyKeys('ipv4', ipv4, nat), ...familyKeys('ipv6', ipv6, nat) };
    return new networks.Network(this, `network-${id}`, { ...others, name, ...configOf(keys, config) });
  }

  /** The image, with an alias of this name. */
  image(id: string, { name = id, file, metadata, source, ...others }: ImageOptions): imageAlias.ImageAlias {
    if (file !== undefined && source !== undefined) {
      throw new Error(`image ${id} has both a file and a source: give only one of them`);
    }
    const from = source ?? this.#fileSource(id, file, metadata);
    const { fingerprint } = new images.Image(this, `image-${id}`, { ...others, source: from });
    return new imageAlias.ImageAlias(this, `alias-${id}`, { name, target: fingerprint, provider: others.provider });
  }

  #fileSource(id: string, file: ImageOptions['file'], metadata: ImageOptions['metadata']): images.ImageSource {
    if (file === undefined) throw new Error(`image ${id} has neither a file nor a source`);
    const rest = metadata === undefined ? {} : { metadata: this.#pathFor(id, metadata) };
    return { type: 'file', file: this.#pathFor(id, file), ...rest };
  }

  /**
   * Terraform runs in the directory of the synthesized stack. A path relative to the app would name another file there, so it becomes
   * absolute. The path of an asset is already relative to that directory.
   */
  #pathFor(id: string, file: string | TerraformAsset): string {
    if (typeof file !== 'string') {
      if (TerraformStack.of(file) === this) return file.path;
      throw new Error(`image ${id} is made from the asset ${file.node.path}, which belongs to another stack`);
    }
    const isOfAsset = this.node.findAll().some((each) => each instanceof TerraformAsset && each.path === file);
    return isOfAsset || Token.isUnresolved(file) ? file : resolve(file);
  }

  profile(id: string, options: ProfileOptions = {}): profiles.Profile {
    const { name = id, ...others } = options;
    return new profiles.Profile(this, `profile-${id}`, { name, ...resourcesOf(others) });
  }

  volume(id: string, pool: storagePool.StoragePool, options: VolumeOptions = {}): storageVolume.StorageVolume {
    const { name = id, ...others } = options;
    return new storageVolume.StorageVolume(this, `volume-${id}`, { ...others, name, pool: pool.name });
  }

  container(id: string, options: ContainerOptions = {}): containers.Container {
    const { name = id, image, source, profiles: used, ...others } = options;
    if (image !== undefined && source !== undefined) {
      throw new Error(`container ${id} has both an image and a source: give only one of them`);
    }
    return new containers.Container(this, `container-${id}`, {
      name,
      ...resourcesOf(others),
      ...(source === undefined ? {} : { source }),
      ...(image === undefined ? {} : { source: imageSource(image) }),
      ...(used === undefined ? {} : { profiles: used.map((each) => (typeof each === 'string' ? each : each.name)) }),
    });
  }
}

interface WithResources {
  readonly limits?: Limits;
  readonly devices?: Devices | IResolvable;
  readonly config?: { [key: string]: string };
}

/** Merges limits into the config keys and names the interfaces. A key that is written in config wins. */
function resourcesOf<T extends WithResources>({ limits, devices, config, ...others }: T) {
  return {
    ...others,
    ...configOf(limitKeys(limits ?? {}), config),
    ...(devices === undefined ? {} : { devices: isReference(devices) ? devices : withInterfaceNames(devices) }),
  };
}

const isReference = (devices: Devices | IResolvable): devices is IResolvable => Token.isUnresolved(devices);

/** Terraform merges a config that is a reference as a whole: its keys are known only then. */
function configOf(keys: { readonly [key: string]: string }, config: { [key: string]: string } = {}) {
  if (isEmpty(keys) && isEmpty(config)) return {};
  if (isEmpty(keys)) return { config };
  return { config: Token.isUnresolved(config) ? Token.asStringMap(Fn.merge([keys, config])) : { ...keys, ...config } };
}

function familyKeys(family: 'ipv4' | 'ipv6', address: string | undefined, nat: NetworkOptions['nat']) {
  if (address === undefined) return {};
  const hasNat = nat !== undefined && address !== 'none';
  return {
    [`${family}.address`]: address,
    ...(hasNat ? { [`${family}.nat`]: typeof nat === 'boolean' ? String(nat) : Token.asString(nat) } : {}),
  };
}

function imageSource(image: imageAlias.ImageAlias | string): containers.ContainerSource {
  if (typeof image !== 'string') return { type: 'image', alias: image.name };
  return { type: 'image', ...(/^[0-9a-f]{12,64}$/.test(image) ? { fingerprint: image } : { alias: image }) };
}

const isEmpty = (map: object): boolean => Object.keys(map).length === 0;
