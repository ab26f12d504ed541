// Finds at the plan static addresses of nics that servers refuse, on their networks as these will be after the apply.
import { resolveDevice } from '../../../server/api/devices/index.ts';
import { staticAddressProblem } from '../../../server/api/network/static-address.ts';
import { isGantry, type Link } from '../../connection/link.ts';
import type { TextMap, TextMaps } from '../../framework/attribute.ts';
import { failure, warning, type Diagnostic } from '../../framework/diagnostic.ts';
import { at, type Path } from '../../framework/path.ts';
import { isMap, isUnknown, type Value } from '../../framework/value.ts';

interface ExpectedNetwork {
  /** Absent for an interface that the server does not manage. An address that the server has yet to pick is `auto`. */
  readonly config: TextMap | undefined;
  /** False: only its addresses are known, not whether it gives out static ones. */
  readonly isCertain: boolean;
}

/** The networks that this process planned. */
const plannedNetworks = new WeakMap<Link, Map<string, ExpectedNetwork>>();

/** Terraform plans a network before the resources that refer to it. `effective`: the config that the server has now. */
export function notePlannedNetwork(link: Link, name: Value, config: Value, effective: TextMap | null): void {
  if (typeof name !== 'string') return;
  const networks = plannedNetworks.get(link) ?? new Map<string, ExpectedNetwork>();
  plannedNetworks.set(link, networks.set(name, expectedNetwork(config, effective)));
}

const addresses = ['ipv4.address', 'ipv6.address'] as const;
const givesOut = ['ipv4.dhcp', 'ipv6.dhcp', 'ipv6.dhcp.stateful', 'bridge.mode'] as const;

function expectedNetwork(config: Value, effective: TextMap | null): ExpectedNetwork {
  if (!isMap(config)) return { config: { 'ipv4.address': 'auto', 'ipv6.address': 'auto' }, isCertain: false };
  const addressOf = (key: string): string => {
    const written = config[key] ?? '';
    if (written === '' || written === 'auto') return effective?.[key] ?? 'auto';
    return typeof written === 'string' ? written : 'auto';
  };
  const picked = Object.fromEntries(addresses.map((key) => [key, addressOf(key)]));
  // A key that the server has and the configuration lacks may be one that this apply takes away.
  const isCertain =
    !Object.values(config).some(isUnknown) &&
    givesOut.every((key) => (effective?.[key] ?? '') === '' || Object.hasOwn(config, key));
  return { config: { ...textsOf(config), ...picked }, isCertain };
}

export interface PlannedNics {
  /** The planned devices; unknown properties are ignored. */
  readonly devices: Value;
  readonly prior: TextMaps | null;
  readonly pathOf: (device: string, key: string) => Path;
}

export const inDevices = (device: string, key: string): Path => at('devices', { key: device }, { key });

/** Errors for addresses that the server would refuse; warnings if this apply may change the network too. */
export async function strayAddresses(link: Link | undefined, nics: PlannedNics): Promise<readonly Diagnostic[]> {
  const { devices } = nics;
  if (link === undefined || link.activity.hasWritten || !isMap(devices)) return [];
  const found = Object.entries(devices).map(async ([name, device]) => {
    if (!isMap(device) || device['type'] !== 'nic') return [];
    return Promise.all(([4, 6] as const).map((family) => judge(link, nics, name, device, family)));
  });
  return (await Promise.all(found)).flat(2);
}

const textsOf = (device: Readonly<Record<string, Value>>): TextMap =>
  Object.fromEntries(Object.entries(device).filter((entry): entry is [string, string] => typeof entry[1] === 'string'));

async function judge(
  link: Link,
  nics: PlannedNics,
  name: string,
  device: Readonly<Record<string, Value>>,
  family: 4 | 6,
): Promise<readonly Diagnostic[]> {
  const key = `ipv${family}.address`;
  const nic = resolveDevice(textsOf(device));
  const network = nic['parent'] ?? '';
  if ((nic[key] ?? '') === '' || network === '' || nics.prior?.[name]?.[key] === nic[key]) return [];
  const planned = plannedNetworks.get(link)?.get(network);
  const expected = planned ?? (await liveNetwork(link, network));
  if (expected === undefined) return [];
  const isCertain = expected.isCertain && !Object.values(device).some(isUnknown);
  // The server judges the subnet alone when the nic is filtered.
  const judged = isCertain ? nic : { ...nic, [`security.ipv${family}_filtering`]: 'true' };
  const why = staticAddressProblem(judged, family, expected.config);
  if (why === undefined) return [];
  const isRefused = planned !== undefined && isGantry(link);
  const remedy = 'Change the address, or that of the network.';
  const detail = isRefused
    ? remedy
    : `${remedy} The server may refuse it, unless this apply changes the network first.`;
  // The message omits the address, which may come from a sensitive variable; Terraform shows its line.
  const what = `The nic ${name} cannot have its ${key}: ${why}`;
  return [(isRefused ? failure : warning)(what, detail, nics.pathOf(name, key))];
}

async function liveNetwork(link: Link, name: string): Promise<ExpectedNetwork | undefined> {
  const seen = await link.reader.read('network', name, AbortSignal.timeout(20_000));
  return seen && { config: seen.object.managed ? seen.object.config : undefined, isCertain: true };
}
