// Reserves addresses for filtered nics without one, and records them with the container.
import { projectOf } from '../../api/project/project-names.ts';
import type { ConfigMap, DeviceMap } from '../../api/schema/common-schemas.ts';
import { formatIp, parseIp, type IpFamily } from '../../api/text/ip.ts';
import type { NetworkDriver } from '../../drivers/network/driver.ts';
import type { KeyedMutex } from '../../lib/keyed-mutex.ts';
import type { ContainerDocument } from '../../records/documents.ts';
import type { Records } from '../../records/records.ts';
import { expand, nicNetwork, type ExpandedSettings } from '../shared/expand.ts';
import { othersWith } from '../shared/other-users.ts';
import { profilesOf } from '../shared/project-scope.ts';
import { containersWith } from '../shared/used-by.ts';
import { claimsOf } from './nic-addresses.ts';
import { addressFor, filteredDevices, ipFamilies, isFiltering, reservedKey } from './nic-filtering.ts';

export interface ReserveDeps {
  readonly records: Records;
  readonly network: Pick<NetworkDriver, 'leases'>;
  /** By network: two nics must not get one address. */
  readonly locks: KeyedMutex;
}

export function runDevices(
  records: Records,
  container: string,
  { devices }: ExpandedSettings,
  config: ConfigMap,
): DeviceMap {
  const project = records.projects.get(projectOf(container))?.document.config ?? {};
  return filteredDevices(devices, { project, config, isManaged: (network) => records.networks.has(network) });
}

/** Also frees reservations of nics that are no longer filtered, or have an address of their own by now. */
export async function reserveAddresses(deps: ReserveDeps, name: string): Promise<void> {
  const document = deps.records.containers.get(name)?.document;
  if (document === undefined) return;
  const devices = devicesOf(deps.records, name, document);
  const wanted = wantedKeys(deps.records, devices);
  const stale = Object.keys(document.config).filter((key) => isReservedKey(key) && !wanted.has(key));
  if (stale.length > 0) {
    await change(deps.records, name, (config) =>
      Object.fromEntries(Object.entries(config).filter(([key]) => !stale.includes(key))),
    );
  }
  for (const [key, nic] of wanted) await deps.locks.run(nic.network, () => reserve(deps, name, key, nic));
}

interface NicWithoutAddress {
  readonly device: string;
  readonly family: IpFamily;
  readonly network: string;
}

const isReservedKey = (key: string): boolean => /^volatile\..+\.ipv[46]\.address$/.test(key);

/** By key: filtered nics of managed networks without their own address. */
function wantedKeys(records: Records, devices: DeviceMap): ReadonlyMap<string, NicWithoutAddress> {
  return new Map(
    Object.entries(devices).flatMap(([device, properties]) => {
      const network = nicNetwork(properties);
      if (network === undefined || !records.networks.has(network)) return [];
      return ipFamilies
        .filter((family) => isFiltering(properties, family) && (properties[`ipv${family}.address`] ?? '') === '')
        .map((family) => [reservedKey(device, family), { device, family, network }] as const);
    }),
  );
}

/** Devices of the container with its project's filters, without reserved addresses. */
function devicesOf(records: Records, name: string, document: ContainerDocument): DeviceMap {
  return runDevices(records, name, expand(document, profilesOf(records, name)), {});
}

async function reserve(deps: ReserveDeps, name: string, key: string, nic: NicWithoutAddress): Promise<void> {
  const { records } = deps;
  const document = records.containers.get(name)?.document;
  const network = records.networks.get(nic.network)?.document;
  if (document === undefined || network === undefined) return;
  const devices = devicesOf(records, name, document);
  const hwaddr = (devices[nic.device]?.['hwaddr'] || document.config[`volatile.${nic.device}.hwaddr`])?.toLowerCase();
  if (hwaddr === undefined) return;
  const known = document.config[key];
  const taken = takenBy(records, name, document, nic);
  const choose = (wanted: readonly string[], others: ReadonlySet<string>): string | undefined =>
    addressFor(nic.network, network.config, { family: nic.family, hwaddr, wanted, taken: others });
  let address = choose(known === undefined ? [] : [known], taken);
  // Reads the leases only to choose a new address.
  if (address !== undefined && address !== known) {
    const leases = await deps.network.leases(nic.network);
    const own = leases.filter((lease) => lease.hwaddr === hwaddr).map((lease) => lease.address);
    const foreign = leases.filter((lease) => lease.hwaddr !== hwaddr).map((lease) => canonical(lease.address));
    address = choose(own, new Set([...taken, ...foreign]));
  }
  if (address === known) return;
  await change(records, name, (config) => {
    const { [key]: _former, ...rest } = config;
    return address === undefined ? rest : { ...rest, [key]: address };
  });
}

const canonical = (text: string): string => {
  const ip = parseIp(text);
  return ip === undefined ? text : formatIp(ip);
};

/** Permanent addresses of other nics on the network. */
function takenBy(records: Records, name: string, own: ContainerDocument, nic: NicWithoutAddress): ReadonlySet<string> {
  const entries = [
    ...containersWith(records, 'network', nic.network).filter((entry) => entry.name !== name),
    ...othersWith(records, 'network', nic.network),
    { name, document: own },
  ];
  const claims = entries.flatMap((entry) => {
    const { devices } = expand(entry.document, profilesOf(records, entry.name));
    return claimsOf(entry.name, devices, entry.document.config);
  });
  return new Set(
    claims
      .filter(
        ({ container, device, network }) => network === nic.network && !(container === name && device === nic.device),
      )
      .map(({ value }) => value),
  );
}

function change(records: Records, name: string, next: (config: ConfigMap) => ConfigMap): Promise<void> {
  return records.retry((changes) => {
    const document = records.containers.get(name)?.document;
    if (document !== undefined) changes.put('containers', name, { ...document, config: next(document.config) });
  });
}
