// Turns typed devices and limits of containers and profiles into the maps of strings that the resources take. Any device can also
// be written as such a map; docs/ explains the properties.
import type { network as networks, storagePool, storageVolume } from './generated/index.ts';

/** Properties of one device; `type` selects the kind of device. */
export interface Device {
  readonly [property: string]: string;
}

/** Devices by name. One that is undefined is left out, as an option would be. */
export interface Devices {
  readonly [name: string]: Device | undefined;
}

export interface Limits {
  /** How many processors, or which: 2, '0-3'. */
  readonly cpu?: number | string;
  /** A size or a share of the host: '256MiB', '10%'. */
  readonly memory?: string;
  readonly processes?: number;
}

export interface RootDiskOptions {
  /** Such as '10GiB'. */
  readonly size?: string;
}

/** The root disk, in a pool. */
export const rootDisk = (pool: storagePool.StoragePool, { size }: RootDiskOptions = {}): Device => ({
  type: 'disk',
  path: '/',
  pool: pool.name,
  ...(size === undefined ? {} : { size }),
});

export interface VolumeDiskOptions {
  readonly readonly?: boolean;
}

/** A storage volume at a path inside. */
export const volumeDisk = (
  volume: storageVolume.StorageVolume,
  path: string,
  { readonly = false }: VolumeDiskOptions = {},
): Device => ({
  type: 'disk',
  pool: volume.pool,
  source: volume.name,
  path,
  ...(readonly ? { readonly: 'true' } : {}),
});

export interface NicOptions {
  /** Name of the interface inside; default: the name of the device. */
  readonly name?: string;
  /** A fixed address, such as '10.1.0.5'. */
  readonly ipv4?: string;
  readonly ipv6?: string;
  readonly mac?: string;
}

/** An interface in a network. */
export const nic = (network: networks.Network, { name, ipv4, ipv6, mac }: NicOptions = {}): Device => ({
  type: 'nic',
  nictype: 'bridged',
  parent: network.name,
  ...(name === undefined ? {} : { name }),
  ...(ipv4 === undefined ? {} : { 'ipv4.address': ipv4 }),
  ...(ipv6 === undefined ? {} : { 'ipv6.address': ipv6 }),
  ...(mac === undefined ? {} : { hwaddr: mac }),
});

/** Forwards a port of the host into the container: forwardPort('tcp:0.0.0.0:8080', 'tcp:127.0.0.1:80'). */
export const forwardPort = (listen: string, connect: string): Device => ({ type: 'proxy', listen, connect });

/** An interface without a `name` gets the name of its device. */
export const withInterfaceNames = (devices: Devices): Record<string, Device> =>
  Object.fromEntries(
    Object.entries(devices).flatMap(([name, device]) =>
      device === undefined ? [] : [[name, device['type'] === 'nic' ? { name, ...device } : device]],
    ),
  );

/** Limits as config keys. */
export const limitKeys = (limits: Limits): Record<string, string> =>
  Object.fromEntries(
    Object.entries(limits as Readonly<Record<string, number | string | undefined>>).flatMap(([name, value]) =>
      value === undefined ? [] : [[`limits.${name}`, String(value)]],
    ),
  );
