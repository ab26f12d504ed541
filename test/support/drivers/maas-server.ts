// A MAAS server for tests: the address reservation of API 2.0, with the refusals, messages and statuses of MAAS.
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { containsIp, formatIp, parseCidr, parseIp } from '../../../server/api/text/ip.ts';
import { collect } from '../daemons/daemon.ts';

interface Link {
  readonly id: number;
  readonly subnet: string;
  readonly address: string;
}

interface Interface {
  readonly id: number;
  name: string;
  readonly mac: string;
  vlan: number | null;
  links: Link[];
}

export interface StandInDevice {
  readonly id: string;
  hostname: string;
  domain: string;
  description: string;
  parent: string;
  interfaces: Interface[];
}

interface StandInSubnet {
  readonly id: number;
  readonly vlan: number;
  readonly cidr: string;
}

export interface StandIn {
  readonly url: string;
  readonly key: string;
  readonly devices: Map<string, StandInDevice>;
  readonly subnets: Map<string, StandInSubnet>;
  readonly domains: Set<string>;
  readonly machines: Map<string, string>;
  /** Requests that change something, as `METHOD path`. */
  readonly changes: string[];
  /** Answers everything with this status while it is set. */
  broken: number | undefined;
  /** Called for each change, before it is made and after. */
  onChange: (moment: 'before' | 'after', change: string) => void | Promise<void>;
  /** `HOSTNAME.DOMAIN MAC SUBNET=ADDRESS ...`, sorted. */
  readonly reservations: () => string[];
  close(): Promise<void>;
}

class Refusal extends Error {
  readonly status: number;
  constructor(status: number, body: object | string) {
    super(typeof body === 'string' ? body : JSON.stringify(body));
    this.status = status;
  }
}

type Fields = Readonly<Record<string, readonly string[]>>;

export async function startMaas(): Promise<StandIn> {
  let count = 100;
  const nonces = new Set<string>();
  const server = createServer((request, response) => void answer(request, response));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const self: StandIn = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/MAAS`,
    key: 'consumer1:token1:secret1',
    devices: new Map(),
    subnets: new Map([
      ['lan', { id: 1, vlan: 5001, cidr: '10.77.0.0/24' }],
      ['lab', { id: 2, vlan: 5002, cidr: '10.78.0.0/30' }],
      ['lan6', { id: 3, vlan: 5001, cidr: 'fd42:77::/64' }],
    ]),
    domains: new Set(['maas', 'web.maas']),
    machines: new Map([['box', 'm4ch1n']]),
    changes: [],
    broken: undefined,
    onChange: () => {},
    reservations: () =>
      [...self.devices.values()]
        .flatMap(({ hostname, domain, interfaces }) =>
          interfaces.map(({ mac, links }) =>
            [`${hostname}.${domain}`, mac, ...links.map(({ subnet, address }) => `${subnet}=${address}`).sort()].join(
              ' ',
            ),
          ),
        )
        .sort(),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const end = (status: number, body: string): void => {
      response.writeHead(status, { 'content-type': status < 300 ? 'application/json' : 'text/plain' }).end(body);
    };
    const { method = '', url = '' } = request;
    try {
      const fields = fieldsOf(new URLSearchParams((await collect(request)).toString('utf8')));
      if (self.broken !== undefined) return end(self.broken, '<html>broken</html>');
      checkAuthorization(request.headers.authorization ?? '');
      const place = new URL(url, 'http://maas');
      const path = place.pathname.replace('/MAAS/api/2.0/', '');
      if (method === 'GET') return end(200, JSON.stringify(read(path, fieldsOf(place.searchParams))));
      const change = `${method} ${path}${place.search}`;
      self.changes.push(change);
      await self.onChange('before', change);
      const result = act(method, path, place.searchParams.get('op') ?? '', fields);
      await self.onChange('after', change);
      end(result === undefined ? 204 : 200, result === undefined ? '' : JSON.stringify(result));
    } catch (error) {
      if (error instanceof Refusal) end(error.status, error.message);
      else end(500, String(error));
    }
  }

  function checkAuthorization(header: string): void {
    const parts = Object.fromEntries(
      [...header.matchAll(/(oauth_\w+)="([^"]*)"/g)].map(([, name, value]) => [name, decodeURIComponent(value ?? '')]),
    );
    const nonce = parts['oauth_nonce'] ?? '';
    const isGood =
      header.startsWith('OAuth ') &&
      parts['oauth_signature_method'] === 'PLAINTEXT' &&
      parts['oauth_consumer_key'] === 'consumer1' &&
      parts['oauth_token'] === 'token1' &&
      parts['oauth_signature'] === '&secret1' &&
      Math.abs(Number(parts['oauth_timestamp']) - Date.now() / 1000) < 300;
    if (!isGood) throw new Refusal(401, "Authorization Error: 'Invalid consumer.'");
    if (nonce === '' || nonces.has(nonce)) throw new Refusal(401, 'Authorization Error: Nonce already used');
    nonces.add(nonce);
  }

  function read(path: string, query: Fields): unknown {
    const is = (key: string, value: string): boolean => query[key] === undefined || query[key].includes(value);
    if (path === 'subnets/')
      return [...self.subnets].map(([name, { id, vlan, cidr }]) => ({ id, name, cidr, vlan: { id: vlan } }));
    if (path === 'machines/')
      return [...self.machines]
        .filter(([name]) => is('hostname', name))
        .map(([hostname, system_id]) => ({ hostname, system_id, fqdn: `${hostname}.maas`, domain: { name: 'maas' } }));
    if (path === 'devices/')
      return [...self.devices.values()]
        .filter(({ hostname }) => is('hostname', hostname))
        .filter(
          ({ interfaces }) =>
            query['mac_address'] === undefined || interfaces.some(({ mac }) => is('mac_address', mac)),
        )
        .map(shown);
    throw new Refusal(404, 'Unknown page');
  }

  function act(method: string, path: string, op: string, fields: Fields): unknown {
    if (path === 'devices/' && method === 'POST') return createDevice(fields);
    const [, kind = '', id = '', , interfaceId = ''] =
      /^(devices|nodes)\/(\w+)\/(interfaces\/(?:(\d+)\/)?)?$/.exec(path) ?? [];
    const device = self.devices.get(id);
    if (device === undefined) throw new Refusal(404, 'No Device matches the given query.');
    if (kind === 'devices') return method === 'DELETE' ? remove(id) : updateDevice(device, fields);
    if (op === 'create_physical') return shownInterface(createInterface(device, fields));
    const found = device.interfaces.find((each) => each.id === Number(interfaceId));
    if (found === undefined) throw new Refusal(404, 'No Interface matches the given query.');
    if (method === 'DELETE') {
      device.interfaces = device.interfaces.filter((each) => each !== found);
      return undefined;
    }
    if (op === 'link_subnet') link(found, fields);
    else if (op === 'unlink_subnet') found.links = found.links.filter((each) => each.id !== Number(one(fields, 'id')));
    else {
      found.name = one(fields, 'name') || found.name;
      found.vlan = Number(one(fields, 'vlan'));
    }
    return shownInterface(found);
  }

  function remove(id: string): undefined {
    self.devices.delete(id);
  }

  function createDevice(fields: Fields): unknown {
    const macs = fields['mac_addresses'] ?? [];
    if (macs.length === 0) throw new Refusal(400, { mac_addresses: ['This field is required.'] });
    for (const mac of macs) checkMac(mac, 'mac_addresses');
    const device: StandInDevice = {
      id: `d${(count += 1)}`,
      hostname: '',
      domain: '',
      description: '',
      parent: '',
      interfaces: [],
    };
    updateDevice(device, fields);
    device.interfaces = macs.map((mac, at) => ({ id: (count += 1), name: `eth${at}`, mac, vlan: null, links: [] }));
    self.devices.set(device.id, device);
    return shown(device);
  }

  function updateDevice(device: StandInDevice, fields: Fields): unknown {
    const [hostname, domain, parent] = [one(fields, 'hostname'), one(fields, 'domain'), one(fields, 'parent')];
    if (!/^[a-zA-Z0-9]([a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?$/.test(hostname))
      throw new Refusal(400, { hostname: [`Invalid hostname: Name contains disallowed characters: '${hostname}'.`] });
    if (!self.domains.has(domain)) throw new Refusal(400, { domain: [`Unable to find domain ${domain}`] });
    if (![...self.machines.values()].includes(parent)) throw new Refusal(400, { parent: ['Unable to find parent'] });
    for (const other of self.devices.values())
      if (other !== device && other.hostname === hostname && other.domain === domain)
        throw new Refusal(400, { hostname: [`Node with hostname '${hostname}' already exists`] });
    Object.assign(device, { hostname, domain, parent, description: one(fields, 'description') });
    return shown(device);
  }

  function checkMac(mac: string, field: string): void {
    if (!/^([0-9a-f]{2}:){5}[0-9a-f]{2}$/.test(mac))
      throw new Refusal(400, { [field]: [`'${mac}' is not a valid MAC address.`] });
    for (const { hostname, interfaces } of self.devices.values())
      if (interfaces.some((each) => each.mac === mac))
        throw new Refusal(400, { [field]: [`This MAC address is already in use by ${hostname}.`] });
  }

  function createInterface(device: StandInDevice, fields: Fields): Interface {
    const mac = one(fields, 'mac_address');
    checkMac(mac, 'mac_address');
    const made = { id: (count += 1), name: one(fields, 'name'), mac, vlan: Number(one(fields, 'vlan')), links: [] };
    device.interfaces.push(made);
    return made;
  }

  function link(found: Interface, fields: Fields): void {
    const [name, subnet] = [...self.subnets].find(([, each]) => String(each.id) === one(fields, 'subnet')) ?? [];
    if (name === undefined || subnet === undefined || (found.vlan !== null && found.vlan !== subnet.vlan))
      throw new Refusal(400, { subnet: ['Select a valid choice. That choice is not one of the available choices.'] });
    if (one(fields, 'mode') !== 'STATIC') throw new Refusal(400, { mode: ['Only STATIC is in this stand-in.'] });
    const address = one(fields, 'ip_address') || freeAddress(name, subnet);
    const [ip, cidr] = [parseIp(address), parseCidr(subnet.cidr)];
    if (ip === undefined || cidr === undefined || !containsIp(cidr, ip))
      throw new Refusal(400, { ip_address: ['IP address is not in the given subnet.'] });
    if (taken(name).has(address)) throw new Refusal(404, `The IP address ${address} is already in use.`);
    found.links.push({ id: (count += 1), subnet: name, address });
  }

  function freeAddress(name: string, { cidr }: StandInSubnet): string {
    const base = parseCidr(cidr);
    if (base === undefined) throw new Refusal(500, `${cidr} is no subnet`);
    for (let host = 1n; host < 200n; host += 1n) {
      const ip = { family: base.ip.family, value: base.ip.value + host };
      // The last address is the broadcast one.
      if (!containsIp(base, { ...ip, value: ip.value + 1n })) break;
      if (!taken(name).has(formatIp(ip))) return formatIp(ip);
    }
    throw new Refusal(503, `No more IPs available in subnet: ${cidr}.`);
  }

  const taken = (name: string): Set<string> =>
    new Set(
      [...self.devices.values()].flatMap(({ interfaces }) =>
        interfaces.flatMap(({ links }) => links.filter(({ subnet }) => subnet === name).map(({ address }) => address)),
      ),
    );

  const shown = ({ id, hostname, domain, description, parent, interfaces }: StandInDevice): object => ({
    system_id: id,
    hostname,
    fqdn: `${hostname}.${domain}`,
    domain: { name: domain },
    description,
    parent,
    interface_set: interfaces.map(shownInterface),
  });

  const shownInterface = ({ id, name, mac, vlan, links }: Interface): object => ({
    id,
    name,
    mac_address: mac,
    vlan: vlan === null ? null : { id: vlan },
    links: links.map((each) => ({
      id: each.id,
      mode: 'static',
      subnet: { id: self.subnets.get(each.subnet)?.id, name: each.subnet },
      ip_address: each.address,
    })),
  });

  return self;
}

const fieldsOf = (query: URLSearchParams): Fields =>
  Object.fromEntries([...new Set(query.keys())].map((name) => [name, query.getAll(name)]));

const one = (fields: Fields, name: string): string => fields[name]?.[0] ?? '';
