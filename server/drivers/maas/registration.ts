// Brings one container's device at a MAAS server into the wanted state, from any other, and removes it. Each step is idempotent.
import { formatIp, parseIp } from '../../api/text/ip.ts';
import { driverErrors } from '../driver-error.ts';
import type { Maas, MaasDevice, MaasInterface, MaasSubnet } from './maas.ts';

export interface WantedSubnet {
  readonly subnet: string;
  /** '': MAAS chooses one, and keeps it. */
  readonly address: string;
}

export interface WantedInterface {
  readonly name: string;
  readonly hwaddr: string;
  readonly subnets: readonly WantedSubnet[];
}

export interface WantedDevice {
  readonly uuid: string;
  readonly hostname: string;
  /** '': the domain of the machine; else one below it. */
  readonly subdomain: string;
  readonly interfaces: readonly WantedInterface[];
}

export interface RegistrationPlace {
  readonly maas: Maas;
  readonly machine: string;
  /** Identifies this daemon. */
  readonly tag: string;
}

const prefix = 'gantry';
export const markOf = (tag: string, uuid: string): string => `${prefix}:${tag}:${uuid}`;

/** The container of a device made by any such daemon; undefined: a foreign device. */
export const uuidIn = (description: string): string | undefined =>
  /^gantry:[^:\s]+:([0-9a-f-]{36})$/.exec(description)?.[1];

/** Throws DriverError after removing a device that did not exist before. */
export async function register(place: RegistrationPlace, wanted: WantedDevice): Promise<void> {
  const { maas, tag } = place;
  const [machine, subnets] = await Promise.all([maas.machine(place.machine), maas.subnets()]);
  refuseSubnets(wanted, subnets);
  const domain = wanted.subdomain === '' ? machine.domain : `${wanted.subdomain}.${machine.domain}`;
  const device = { hostname: wanted.hostname, domain, description: markOf(tag, wanted.uuid), parent: machine.id };
  const found = await findDevice(maas, wanted, domain);
  if (found === undefined) {
    const made = await maas.createDevice(
      device,
      wanted.interfaces.map(({ hwaddr }) => hwaddr),
    );
    try {
      await setInterfaces(maas, made, wanted.interfaces, subnets);
    } catch (error) {
      await maas.deleteDevice(made.id).catch(() => {});
      throw error;
    }
    return;
  }
  const isSame = (['hostname', 'domain', 'description', 'parent'] as const).every((key) => found[key] === device[key]);
  if (!isSame) await maas.updateDevice(found.id, device);
  await setInterfaces(maas, found, wanted.interfaces, subnets);
}

/** Removes the device of a container. Leaves devices of other daemons and makers. */
export async function unregister({ maas, tag }: RegistrationPlace, uuid: string, hostname: string): Promise<void> {
  for (const { id, description } of await maas.devices({ hostname }))
    if (description === markOf(tag, uuid)) await maas.deleteDevice(id);
}

/** Removes this daemon's devices of unwanted containers: leftovers of a killed daemon. */
export async function sweep(place: RegistrationPlace, wanted: ReadonlySet<string>): Promise<void> {
  const { maas, tag } = place;
  const machine = await maas.machine(place.machine);
  for (const { id, description, parent } of await maas.devices()) {
    const uuid = uuidIn(description);
    // A copy of a host may have its tag.
    const isOwn = uuid !== undefined && description === markOf(tag, uuid) && parent === machine.id;
    if (isOwn && !wanted.has(uuid)) await maas.deleteDevice(id);
  }
}

function refuseSubnets({ interfaces }: WantedDevice, subnets: ReadonlyMap<string, MaasSubnet>): void {
  for (const { name, subnets: wanted } of interfaces)
    for (const { subnet } of wanted)
      if (!subnets.has(subnet))
        throw driverErrors.invalid(`MAAS has no subnet named ${subnet} for the interface ${name}`);
}

/** The container's own device: under this name, or with its addresses under a former name. */
async function findDevice(maas: Maas, wanted: WantedDevice, domain: string): Promise<MaasDevice | undefined> {
  const byAddress = await maas.devices({ mac_address: wanted.interfaces.map(({ hwaddr }) => hwaddr) });
  const byName = await maas.devices({ hostname: wanted.hostname });
  const own = [...byName, ...byAddress].find(({ description }) => uuidIn(description) === wanted.uuid);
  const [foreign] = byName.filter((each) => each.domain === domain && uuidIn(each.description) !== wanted.uuid);
  if (foreign !== undefined)
    throw driverErrors.invalid(`MAAS has a device named ${wanted.hostname}.${domain} of another owner (${foreign.id})`);
  return own;
}

async function setInterfaces(
  maas: Maas,
  device: MaasDevice,
  wanted: readonly WantedInterface[],
  subnets: ReadonlyMap<string, MaasSubnet>,
): Promise<void> {
  const lost = device.interfaces.filter(({ hwaddr }) => !wanted.some((each) => each.hwaddr === hwaddr));
  for (const { id } of lost) await maas.deleteInterface(device.id, id);
  for (const each of wanted) {
    const vlan = subnets.get(each.subnets[0]?.subnet ?? '')?.vlan ?? '';
    const found = device.interfaces.find(({ hwaddr }) => hwaddr === each.hwaddr);
    const there = found ?? (await maas.createInterface(device.id, each.name, each.hwaddr, vlan));
    await unlinkLost(maas, device.id, there, each);
    if (there.vlan !== vlan) await maas.updateInterface(device.id, there.id, { name: each.name, vlan });
    for (const one of each.subnets)
      if (!isLinked(there, one)) await maas.link(device.id, there.id, subnets.get(one.subnet)?.id ?? '', one.address);
  }
}

async function unlinkLost(maas: Maas, device: string, there: MaasInterface, wanted: WantedInterface): Promise<void> {
  const lost = there.links.filter((link) => !wanted.subnets.some((one) => isLinked({ links: [link] }, one)));
  for (const link of lost) await maas.unlink(device, there.id, link.id);
}

const isLinked = ({ links }: Pick<MaasInterface, 'links'>, { subnet, address }: WantedSubnet): boolean =>
  links.some((link) => link.subnet === subnet && (address === '' || plain(link.address) === plain(address)));

function plain(address: string): string {
  const ip = parseIp(address);
  return ip === undefined ? address : formatIp(ip);
}
