// The facts of containers in Terraform's data sources: one with its state, or all that match.
import type { Container, ContainerState } from '../../api/container/container.ts';
import { isUnread } from '../../api/container/unread.ts';
import { ClientError } from '../client-error.ts';
import { at, get, present, presentMaps, type Ask, type TextMap } from './ask.ts';
import { withoutWriteOnly, writeOnlyNames } from './write-only-names.ts';

type Seen = Container & { readonly state?: ContainerState | null };

export const isUp = (status: string): boolean => status !== 'Stopped' && status !== 'Error';

interface Interface {
  readonly mac_address: string | null;
  readonly ipv4_addresses: readonly string[];
  readonly ipv6_addresses: readonly string[];
}

export function interfacesOf(state: ContainerState | null | undefined): Readonly<Record<string, Interface>> {
  const names = Object.keys(state?.network ?? {}).filter((name) => name !== 'lo');
  return Object.fromEntries(
    names.toSorted().map((name) => {
      const { addresses, hwaddr } = state?.network?.[name] ?? { addresses: [], hwaddr: '' };
      const global = (family: string): readonly string[] =>
        addresses.filter((each) => each.scope === 'global' && each.family === family).map(({ address }) => address);
      const mac = hwaddr === '' ? null : hwaddr;
      return [name, { mac_address: mac, ipv4_addresses: global('inet'), ipv6_addresses: global('inet6') }];
    }),
  );
}

/** Facts that only the server decides. */
export function liveFactsOf({ status, location, created_at: createdAt, state }: Seen) {
  const interfaces = Object.values(interfacesOf(state));
  return {
    status,
    location,
    created_at: createdAt,
    ipv4_address: interfaces.flatMap((each) => each.ipv4_addresses)[0] ?? null,
    ipv6_address: interfaces.flatMap((each) => each.ipv6_addresses)[0] ?? null,
    mac_address: interfaces[0]?.mac_address ?? null,
  };
}

const factsOf = (live: Seen) => ({
  description: live.description,
  running: isUp(live.status),
  architecture: live.architecture,
  ephemeral: live.ephemeral,
  profiles: live.profiles ?? [],
  ...liveFactsOf(live),
});

export async function container(ask: Ask, { name }: { readonly name: string }) {
  const live = await get<Container>(ask, at('containers', name));
  const state = isUp(live.status) ? (await ask.client.containerState(name, ask.signal)).metadata : null;
  const secret = writeOnlyNames(live.config);
  return {
    ...factsOf({ ...live, state }),
    config: present(withoutWriteOnly(live.config, secret)),
    devices: presentMaps(live.devices),
    expanded_config: present(withoutWriteOnly(live.expanded_config ?? {}, secret)),
    expanded_devices: presentMaps(live.expanded_devices),
    interfaces: interfacesOf(state),
  };
}

interface ContainerFilter {
  readonly name_prefix: string | null;
  readonly status: string | null;
  readonly profile: string | null;
  readonly config: TextMap | null;
}

export async function containers(ask: Ask, { name_prefix: prefix, status, profile, config }: ContainerFilter) {
  const all = await get<readonly Seen[] | null>(ask, '/1.0/containers', { recursion: 2 });
  const isNamed = ({ name }: Seen): boolean => prefix === null || name.startsWith(prefix);
  const unread = (profile === null && config === null ? [] : (all ?? [])).find(
    (live) => isNamed(live) && isUnread(live),
  );
  if (unread !== undefined) {
    const text = `the server lists ${unread.name} without its profiles and config (status Error), so that a filter by them cannot be answered; its member is ${unread.location}`;
    throw new ClientError('unavailable', text);
  }
  const fits = (live: Seen): boolean =>
    isNamed(live) &&
    (status === null || live.status === status) &&
    (profile === null || live.profiles.includes(profile)) &&
    Object.entries(config ?? {}).every(([key, value]) => live.expanded_config[key] === value);
  return { containers: Object.fromEntries((all ?? []).filter(fits).map((live) => [live.name, factsOf(live)])) };
}
