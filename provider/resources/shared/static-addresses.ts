// Finds at the plan static addresses of nics outside the subnet of their network, as the network will be after the apply.
import { resolveDevice } from '../../../server/api/devices/index.ts';
import { addressProblem } from '../../../server/api/network/address-in-subnet.ts';
import { parseCidr, parseIp } from '../../../server/api/text/ip.ts';
import { isGantry, type Link } from '../../connection/link.ts';
import type { TextMap, TextMaps } from '../../framework/attribute.ts';
import { failure, warning, type Diagnostic } from '../../framework/diagnostic.ts';
import { at, type Path } from '../../framework/path.ts';
import { isMap, type Value } from '../../framework/value.ts';

const keys = ['ipv4.address', 'ipv6.address'] as const;
type Key = (typeof keys)[number];

/** The networks that this process planned, with the addresses that they will have; undefined: the server has yet to pick one. */
const plannedNetworks = new WeakMap<Link, Map<string, Readonly<Record<Key, string | undefined>>>>();

/** Terraform plans a network before the resources that refer to it. `effective`: the config that the server has now. */
export function notePlannedNetwork(link: Link, name: Value, config: Value, effective: TextMap | null): void {
  if (typeof name !== 'string') return;
  const addressOf = (key: Key): string | undefined => {
    const written = isMap(config) ? (config[key] ?? '') : undefined;
    return written === '' || written === 'auto' ? effective?.[key] : typeof written === 'string' ? written : undefined;
  };
  const networks = plannedNetworks.get(link) ?? new Map<string, Readonly<Record<Key, string | undefined>>>();
  plannedNetworks.set(
    link,
    networks.set(name, { 'ipv4.address': addressOf(keys[0]), 'ipv6.address': addressOf(keys[1]) }),
  );
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
    return Promise.all(keys.map((key) => judge(link, nics, name, textsOf(device), key)));
  });
  return (await Promise.all(found)).flat(2);
}

const textsOf = (device: Readonly<Record<string, Value>>): TextMap =>
  Object.fromEntries(Object.entries(device).filter((entry): entry is [string, string] => typeof entry[1] === 'string'));

async function judge(
  link: Link,
  nics: PlannedNics,
  name: string,
  nic: TextMap,
  key: Key,
): Promise<readonly Diagnostic[]> {
  const text = nic[key] ?? '';
  const network = resolveDevice(nic)['parent'] ?? '';
  const ip = parseIp(text);
  if (ip === undefined || network === '' || nics.prior?.[name]?.[key] === text) return [];
  const planned = plannedNetworks.get(link)?.get(network);
  const address = planned === undefined ? await liveAddress(link, network, key) : planned[key];
  const subnet = parseCidr(address ?? '');
  const why = subnet === undefined ? undefined : addressProblem(ip, network, subnet);
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

async function liveAddress(link: Link, network: string, key: Key): Promise<string | undefined> {
  const seen = await link.reader.read('network', network, AbortSignal.timeout(20_000));
  return seen?.object.managed === true ? seen.object.config[key] : undefined;
}
