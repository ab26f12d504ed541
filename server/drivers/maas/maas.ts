// The objects of a MAAS server as plain data, and the calls that change them. MAAS has nodes: machines, and devices below them.
import { driverErrors } from '../driver-error.ts';
import { isMissing, MaasConnection, type MaasAccess } from './connection.ts';

export interface MaasSubnet {
  readonly id: string;
  readonly vlan: string;
}

export interface MaasLink {
  readonly id: string;
  /** The name of its subnet. */
  readonly subnet: string;
  readonly address: string;
}

export interface MaasInterface {
  readonly id: string;
  readonly hwaddr: string;
  readonly vlan: string;
  readonly links: readonly MaasLink[];
}

export interface MaasDevice {
  readonly id: string;
  readonly hostname: string;
  readonly domain: string;
  readonly description: string;
  /** The machine it belongs to. */
  readonly parent: string;
  readonly interfaces: readonly MaasInterface[];
}

type Json = Readonly<Record<string, unknown>>;
const object = (value: unknown): Json => (typeof value === 'object' && value !== null ? (value as Json) : {});
const list = (value: unknown): Json[] => (Array.isArray(value) ? value.map(object) : []);
const text = (value: unknown): string => (typeof value === 'string' || typeof value === 'number' ? String(value) : '');

export class Maas {
  readonly #connection: MaasConnection;

  constructor(access: MaasAccess) {
    this.#connection = new MaasConnection(access);
  }

  /** Throws DriverError Invalid unless exactly one has that name. */
  async machine(name: string): Promise<{ readonly id: string; readonly domain: string }> {
    const found = list(await this.#connection.get('machines/', { hostname: name }));
    const [first] = found;
    if (first === undefined || found.length > 1) {
      const what = found.length === 0 ? 'no machine' : `${found.length} machines`;
      throw driverErrors.invalid(`MAAS has ${what} named ${name}: set maas.machine to the name of this host there`);
    }
    return { id: text(first['system_id']), domain: text(object(first['domain'])['name']) };
  }

  /** By name. */
  async subnets(): Promise<ReadonlyMap<string, MaasSubnet>> {
    const found = list(await this.#connection.get('subnets/'));
    return new Map(
      found.map((each) => [text(each['name']), { id: text(each['id']), vlan: text(object(each['vlan'])['id']) }]),
    );
  }

  async devices(
    filter: { readonly hostname?: string; readonly mac_address?: readonly string[] } = {},
  ): Promise<MaasDevice[]> {
    return list(await this.#connection.get('devices/', filter)).map(deviceOf);
  }

  async createDevice(device: Omit<MaasDevice, 'id' | 'interfaces'>, hwaddrs: readonly string[]): Promise<MaasDevice> {
    const { hostname, domain, description, parent } = device;
    const form = { hostname, domain, description, parent, mac_addresses: hwaddrs };
    return deviceOf(object(await this.#connection.send('POST', 'devices/', form)));
  }

  async updateDevice(
    id: string,
    change: Pick<MaasDevice, 'hostname' | 'domain' | 'description' | 'parent'>,
  ): Promise<void> {
    await this.#connection.send('PUT', `devices/${id}/`, { ...change });
  }

  /** Idempotent. Frees its addresses. */
  deleteDevice(id: string): Promise<void> {
    return this.#delete(`devices/${id}/`);
  }

  async createInterface(device: string, name: string, hwaddr: string, vlan: string): Promise<MaasInterface> {
    const path = `nodes/${device}/interfaces/?op=create_physical`;
    return interfaceOf(object(await this.#connection.send('POST', path, { name, mac_address: hwaddr, vlan })));
  }

  async updateInterface(
    device: string,
    id: string,
    change: { readonly name: string; readonly vlan: string },
  ): Promise<void> {
    await this.#connection.send('PUT', `nodes/${device}/interfaces/${id}/`, change);
  }

  deleteInterface(device: string, id: string): Promise<void> {
    return this.#delete(`nodes/${device}/interfaces/${id}/`);
  }

  /** `address` '': MAAS chooses one. */
  async link(device: string, id: string, subnet: string, address: string): Promise<void> {
    const form = { mode: 'STATIC', subnet, ...(address === '' ? {} : { ip_address: address }) };
    await this.#connection.send('POST', `nodes/${device}/interfaces/${id}/?op=link_subnet`, form);
  }

  async unlink(device: string, id: string, link: string): Promise<void> {
    await this.#connection.send('POST', `nodes/${device}/interfaces/${id}/?op=unlink_subnet`, { id: link });
  }

  async #delete(path: string): Promise<void> {
    await this.#connection.send('DELETE', path).catch((error: unknown) => {
      if (!isMissing(error)) throw error;
    });
  }
}

function deviceOf(json: Json): MaasDevice {
  return {
    id: text(json['system_id']),
    hostname: text(json['hostname']),
    domain: text(object(json['domain'])['name']),
    description: text(json['description']),
    parent: text(json['parent']),
    interfaces: list(json['interface_set']).map(interfaceOf),
  };
}

function interfaceOf(json: Json): MaasInterface {
  return {
    id: text(json['id']),
    hwaddr: text(json['mac_address']).toLowerCase(),
    vlan: text(object(json['vlan'])['id']),
    links: list(json['links']).map((link) => ({
      id: text(link['id']),
      subnet: text(object(link['subnet'])['name']),
      address: text(link['ip_address']),
    })),
  };
}
