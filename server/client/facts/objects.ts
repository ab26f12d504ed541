// The facts of objects other than containers in Terraform's data sources.
import type { Static } from 'typebox';
import type { Profile } from '../../api/container/profile.ts';
import type { Image, ImageAlias } from '../../api/image/image.ts';
import type { Network } from '../../api/network/network.ts';
import type { Project } from '../../api/project/project.ts';
import type { Certificate } from '../../api/server/certificate.ts';
import type { PoolResources, StoragePool } from '../../api/storage/pool.ts';
import type { StorageVolume } from '../../api/storage/volume.ts';
import { at, FactsArgumentError, get, present, presentMaps, type Ask } from './ask.ts';

interface Named {
  readonly name: string;
}

export async function image(
  ask: Ask,
  { alias, fingerprint }: Readonly<Record<'alias' | 'fingerprint', string | null>>,
) {
  if ((alias === null) === (fingerprint === null))
    throw new FactsArgumentError('Give exactly one of alias and fingerprint');
  const named = alias === null ? fingerprint : (await get<ImageAlias>(ask, at('images/aliases', alias))).target;
  const live = await get<Image>(ask, at('images', named ?? ''));
  return {
    fingerprint: live.fingerprint,
    aliases: live.aliases.map(({ name }) => name),
    architecture: live.architecture,
    public: live.public,
    properties: present(live.properties),
    size_bytes: live.size,
    created_at: live.created_at,
    uploaded_at: live.uploaded_at,
  };
}

export async function profile(ask: Ask, { name }: Named) {
  const { description, config, devices, used_by: users } = await get<Profile>(ask, at('profiles', name));
  return { description, config: present(config), devices: presentMaps(devices), used_by: users ?? [] };
}

/** The server's address in a network, without its prefix length; null if the network has none. */
export function addressIn({ config }: Pick<Network, 'config'>, family: 'ipv4' | 'ipv6'): string | null {
  const [address = ''] = (config[`${family}.address`] ?? '').split('/');
  return ['', 'none', 'auto'].includes(address) ? null : address;
}

export async function network(ask: Ask, { name }: Named) {
  const live = await get<Network>(ask, at('networks', name));
  const { description, type, managed, config, used_by: users, locations } = live;
  return {
    description,
    type,
    managed,
    config: present(config),
    ipv4_address: addressIn(live, 'ipv4'),
    ipv6_address: addressIn(live, 'ipv6'),
    used_by: users ?? [],
    locations: locations ?? [],
  };
}

export async function networkLeases(ask: Ask, { network: name }: { readonly network: string }) {
  await get<Network>(ask, at('networks', name));
  const found = await ask.client.networkLeases(name, ask.signal);
  return { leases: found.map(({ hwaddr, ...rest }) => ({ mac_address: hwaddr, ...rest })) };
}

export async function storagePool(ask: Ask, { name }: Named) {
  const path = at('storage-pools', name);
  const { description, driver, config, status, used_by: users } = await get<StoragePool>(ask, path);
  const { space } = await get<Static<typeof PoolResources>>(ask, `${path}/resources`);
  return {
    description,
    driver,
    config: present(config),
    status,
    used_by: users ?? [],
    space_used_bytes: space.used,
    space_total_bytes: space.total,
  };
}

export async function storageVolume(ask: Ask, { pool, name }: Named & { readonly pool: string }) {
  const volumes = `${at('storage-pools', pool)}/volumes/custom`;
  const live = await get<StorageVolume>(ask, `${volumes}/${encodeURIComponent(name)}`);
  const { description, config, location, used_by: users } = live;
  return { description, config: present(config), location: location ?? '', used_by: users ?? [] };
}

export async function project(ask: Ask, { name }: Named) {
  const { description, config, used_by: users } = await get<Static<typeof Project>>(ask, at('projects', name));
  return { description, config: present(config), used_by: users ?? [] };
}

export async function certificate(ask: Ask, { fingerprint }: { readonly fingerprint: string | null }) {
  const live = await get<Certificate>(ask, at('certificates', fingerprint ?? ''));
  const { name, certificate: pem, restricted, projects } = live;
  return { name, certificate: pem, restricted: restricted ?? false, projects: projects ?? [] };
}
