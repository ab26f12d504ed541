// The suite of all network drivers; each driver's test file only says how to open it and how a client joins.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { containsIp, eui64Address, formatIp, parseCidr, parseIp } from '../../server/api/text/ip.ts';
import type { NetworkDriver, NetworkHost } from '../../server/drivers/network/driver.ts';
import { until } from '../support/until.ts';

export interface NetworkClient {
  readonly hwaddr: string;
  /** Requests an IPv4 address like a DHCP client; undefined if none was offered. */
  request(): Promise<string | undefined>;
  /** Global IPv6 addresses of its interface. */
  ipv6(): Promise<readonly string[]>;
  leave(): Promise<void>;
}

export interface NetworkHarness {
  /** Opens the driver on the same directory each time. */
  open(): NetworkDriver;
  /** A name and subnets (`10.213.5`) that are unused. */
  fresh(): { readonly name: string; readonly ipv4: string; readonly otherIpv4: string; readonly ipv6: string };
  join(network: string, client: { readonly hwaddr: string; readonly hostname: string }): Promise<NetworkClient>;
  /** Asks the DNS of the network. */
  resolve(network: string, hostname: string): Promise<readonly string[]>;
  /** Changes whenever the network's service was interrupted. */
  serviceId(network: string): string;
  /** Everything of this network that remains on the host. */
  remains(network: string): Promise<readonly string[]>;
  /** More config (or a fault) with which the next `up` fails after it has begun. */
  sabotage(network: string): Readonly<Record<string, string>>;
  /** An interface of the host that the driver did not make. */
  foreignInterface(): Promise<string>;
  cleanup(): Promise<void>;
}

const never = new AbortController().signal;

export function networkConformance(
  title: string,
  makeHarness: () => Promise<NetworkHarness>,
  part: 'all' | 'links' = 'all',
): void {
  describe(title, () => {
    let harness: NetworkHarness;
    let driver: NetworkDriver;
    let name: string;
    let ipv4: string;
    let otherIpv4: string;
    let config: Record<string, string>;
    const clients: NetworkClient[] = [];

    const up = (changes: Record<string, string> = {}): Promise<void> =>
      driver.up({ name, config: { ...config, ...changes } }, never);
    const join = async (hwaddr: string, hostname: string): Promise<NetworkClient> => {
      const client = await harness.join(name, { hwaddr, hostname });
      clients.push(client);
      return client;
    };
    const leaveAll = async (): Promise<void> => {
      for (const client of clients.splice(0)) await client.leave();
    };
    const reopen = async (): Promise<void> => {
      await driver.close();
      driver = harness.open();
    };
    const host = (id: string, hwaddr: string, address?: string): NetworkHost => ({
      id,
      hwaddr,
      hostname: id,
      ...(address === undefined ? {} : { ipv4: address }),
    });
    const isIn = (subnet: string, address: string | undefined): boolean => {
      const ip = parseIp(address ?? '');
      return ip !== undefined && containsIp(parseCidr(subnet)!, ip);
    };

    beforeAll(async () => {
      harness = await makeHarness();
    });
    afterAll(async () => {
      await harness?.cleanup();
    });
    beforeEach(() => {
      driver = harness.open();
      const fresh = harness.fresh();
      name = fresh.name;
      ipv4 = fresh.ipv4;
      otherIpv4 = fresh.otherIpv4;
      config = { 'ipv4.address': `${ipv4}.1/24`, 'ipv6.address': 'none' };
    });
    afterEach(async () => {
      await leaveAll();
      await driver.down(name);
      await driver.close();
    });

    test('up makes a bridge with the addresses, MTU and hardware address of its config', async () => {
      const { ipv6 } = harness.fresh();
      await up({ 'ipv6.address': `${ipv6}::1/64`, 'bridge.mtu': '1400', 'bridge.hwaddr': '00:16:3e:0a:0b:0c' });
      const state = await driver.state(name);
      expect(state).toMatchObject({ mtu: 1400, hwaddr: '00:16:3e:0a:0b:0c', state: 'up', type: 'broadcast' });
      const bridge = { id: '8000.00163e0a0b0c', stp: false, forward_delay: 1500 };
      // The kernel knows no bridge of Open vSwitch, and LXD shows no such part for it.
      if (part === 'all') expect(state?.bridge).toMatchObject(bridge);
      else expect(state?.bridge).toBeUndefined();
      expect(driver.hwaddr(name)).toBe('00:16:3e:0a:0b:0c');
      const global = state?.addresses.filter((entry) => entry.scope === 'global');
      expect(global).toEqual([
        { family: 'inet', address: `${ipv4}.1`, netmask: '24', scope: 'global' },
        { family: 'inet6', address: `${ipv6}::1`, netmask: '64', scope: 'global' },
      ]);
      expect(await driver.interfaces()).toContainEqual({
        name,
        type: 'bridge',
        addresses: [`${ipv4}.1/24`, `${ipv6}::1/64`],
      });
    });

    test('up twice changes nothing and does not interrupt service', async () => {
      await up();
      const before = { state: await driver.state(name), service: harness.serviceId(name) };
      await up();
      expect((await driver.state(name))?.addresses).toEqual(before.state?.addresses);
      expect((await driver.state(name))?.hwaddr).toBe(before.state?.hwaddr);
      expect(driver.hwaddr(name)).toBe(before.state?.hwaddr);
      expect(harness.serviceId(name)).toBe(before.service);
    });

    test('up with another address leaves only that one, and clients get leases of it', async () => {
      await up();
      const hwaddr = '02:00:00:00:01:01';
      const first = await join(hwaddr, 'mover');
      expect(isIn(`${ipv4}.0/24`, await first.request())).toBe(true);
      await up({ 'ipv4.address': `${otherIpv4}.1/24` });
      const global = (await driver.state(name))?.addresses.filter((entry) => entry.scope === 'global');
      expect(global?.map((entry) => entry.address)).toEqual([`${otherIpv4}.1`]);
      expect(await driver.leases(name)).toEqual([]);
      expect(isIn(`${otherIpv4}.0/24`, await first.request())).toBe(true);
    });

    test('a change of MTU and hardware address reaches the live bridge, and dropping the address takes it away', async () => {
      await up();
      await up({ 'bridge.mtu': '1380', 'bridge.hwaddr': '00:16:3e:01:02:03' });
      expect(await driver.state(name)).toMatchObject({ mtu: 1380, hwaddr: '00:16:3e:01:02:03' });
      await up({ 'ipv4.address': 'none' });
      const addresses = (await driver.state(name))?.addresses ?? [];
      expect(addresses.filter((entry) => entry.scope === 'global')).toEqual([]);
    });

    test('down twice leaves nothing, and down of an unknown network does nothing', async () => {
      await up();
      await driver.down(name);
      expect(await driver.state(name)).toBeUndefined();
      expect(await harness.remains(name)).toEqual([]);
      await driver.down(name);
      await driver.down(harness.fresh().name);
    });

    test('a client makes its IPv6 address from the announced prefix', async () => {
      const { ipv6 } = harness.fresh();
      await up({ 'ipv6.address': `${ipv6}::1/64` });
      const client = await join('02:00:00:00:0d:01', 'mu');
      const wanted = formatIp(eui64Address(parseCidr(`${ipv6}::/64`)!, client.hwaddr));
      await until(async () => (await client.ipv6()).includes(wanted));
    });

    test('a driver opened later finds the network, its service running and its leases and reservations kept', async () => {
      await up();
      await driver.setHosts(name, [host('nu', '02:00:00:00:0e:02', `${ipv4}.90`)]);
      const client = await join('02:00:00:00:0e:01', 'xi');
      const address = await client.request();
      const service = harness.serviceId(name);
      await reopen();
      expect((await driver.leases(name)).map((lease) => lease.address)).toEqual([address]);
      await up();
      expect(harness.serviceId(name)).toBe(service);
      expect(await client.request()).toBe(address);
      expect(await (await join('02:00:00:00:0e:02', 'nu')).request()).toBe(`${ipv4}.90`);
    });

    test('a first up that fails leaves nothing', async () => {
      await expect(up(harness.sabotage(name))).rejects.toMatchObject({ code: 'Failed' });
      expect(await driver.state(name)).toBeUndefined();
      expect(await harness.remains(name)).toEqual([]);
      await up();
    });

    test('a change that fails leaves the network as it was', async () => {
      await up();
      const changes = { ...harness.sabotage(name), 'ipv4.address': `${otherIpv4}.1/24` };
      await expect(up(changes)).rejects.toMatchObject({ code: 'Failed' });
      const global = (await driver.state(name))?.addresses.filter((entry) => entry.scope === 'global');
      expect(global?.map((entry) => entry.address)).toEqual([`${ipv4}.1`]);
      expect(isIn(`${ipv4}.0/24`, await (await join('02:00:00:00:0f:01', 'omicron')).request())).toBe(true);
    });

    test('an aborted up rejects with the reason and leaves nothing', async () => {
      const reason = new Error('changed my mind');
      const signal = AbortSignal.abort(reason);
      await expect(driver.up({ name, config }, signal)).rejects.toBe(reason);
      expect(await harness.remains(name)).toEqual([]);
    });

    test('a foreign interface is refused and survives a down', async () => {
      const foreign = await harness.foreignInterface();
      const before = await driver.state(foreign);
      await expect(driver.up({ name: foreign, config }, never)).rejects.toMatchObject({ code: 'InUse' });
      await driver.down(foreign);
      expect((await driver.state(foreign))?.hwaddr).toBe(before?.hwaddr);
    });

    test('concurrent ups and downs of one network end in the state of the last call', async () => {
      await Promise.all([up(), driver.down(name), up(), up()]);
      expect(await driver.state(name)).toBeDefined();
      await Promise.all([up(), up(), driver.down(name)]);
      expect(await driver.state(name)).toBeUndefined();
      expect(await harness.remains(name)).toEqual([]);
    });

    test('many networks go up and down at the same time', async () => {
      const many = Array.from({ length: part === 'links' ? 2 : 4 }, () => harness.fresh());
      const all = (): Promise<unknown> =>
        Promise.all(
          many.map((each) => driver.up({ name: each.name, config: { 'ipv4.address': `${each.ipv4}.1/24` } }, never)),
        );
      try {
        await all();
        await all();
        const states = await Promise.all(many.map((each) => driver.state(each.name)));
        expect(states.map((state) => state?.addresses.find((entry) => entry.family === 'inet')?.address)).toEqual(
          many.map((each) => `${each.ipv4}.1`),
        );
      } finally {
        await Promise.all(many.map((each) => driver.down(each.name)));
      }
      for (const each of many) expect(await harness.remains(each.name)).toEqual([]);
    });

    test('external interfaces must exist', async () => {
      await expect(up({ 'bridge.external_interfaces': 'gtynothere' })).rejects.toMatchObject({ code: 'NotFound' });
      expect(await harness.remains(name)).toEqual([]);
    });

    // Leases, names and checks of the config know nothing of the kind of bridge.
    if (part === 'links') return;

    test('a client gets a lease within the ranges, and it is listed', async () => {
      await up({ 'ipv4.dhcp.ranges': `${ipv4}.20-${ipv4}.22,${ipv4}.40-${ipv4}.41` });
      const client = await join('02:00:00:00:02:01', 'leaser');
      const address = await client.request();
      expect([20, 21, 22, 40, 41].map((last) => `${ipv4}.${last}`)).toContain(address);
      const leases = await driver.leases(name);
      expect(leases.map(({ hwaddr, address }) => ({ hwaddr, address }))).toEqual([{ hwaddr: client.hwaddr, address }]);
    });

    test('no two clients get the same address, and a full range gives out no more', async () => {
      await up({ 'ipv4.dhcp.ranges': `${ipv4}.20-${ipv4}.21` });
      const got: (string | undefined)[] = [];
      for (const last of ['01', '02', '03'])
        got.push(await (await join(`02:00:00:00:03:${last}`, `c${last}`)).request());
      expect(new Set(got.slice(0, 2))).toEqual(new Set([`${ipv4}.20`, `${ipv4}.21`]));
      expect(got[2]).toBeUndefined();
    });

    test('no client gets an address without ipv4.dhcp', async () => {
      await up({ 'ipv4.dhcp': 'false' });
      expect(await (await join('02:00:00:00:04:01', 'nodhcp')).request()).toBeUndefined();
    });

    test('a reserved address goes to its owner alone, and its name resolves', async () => {
      await up({ 'ipv4.dhcp.ranges': `${ipv4}.20-${ipv4}.21` });
      const service = harness.serviceId(name);
      await driver.setHosts(name, [host('alpha', '02:00:00:00:05:01', `${ipv4}.20`)]);
      const stranger = await (await join('02:00:00:00:05:02', 'alpha')).request();
      expect(stranger).toBe(`${ipv4}.21`);
      expect(await harness.resolve(name, 'alpha')).toEqual([]);
      expect(await (await join('02:00:00:00:05:01', 'whatever')).request()).toBe(`${ipv4}.20`);
      expect(await harness.resolve(name, 'alpha')).toEqual([`${ipv4}.20`]);
      expect((await driver.leases(name)).find((lease) => lease.address === `${ipv4}.20`)?.hostname).toBe('alpha');
      expect(harness.serviceId(name)).toBe(service);
    });

    test('a reservation may lie outside the ranges; once removed, it has no effect', async () => {
      await up({ 'ipv4.dhcp.ranges': `${ipv4}.100-${ipv4}.150` });
      const hwaddr = '02:00:00:00:06:01';
      await driver.setHosts(name, [host('beta', hwaddr, `${ipv4}.50`)]);
      const client = await join(hwaddr, 'beta');
      expect(await client.request()).toBe(`${ipv4}.50`);
      await driver.setHosts(name, []);
      await driver.releaseLease(name, hwaddr);
      expect(await harness.resolve(name, 'beta')).toEqual([]);
      expect(isIn(`${ipv4}.0/24`, await client.request())).toBe(true);
      expect((await driver.leases(name)).map((lease) => lease.address)).not.toContain(`${ipv4}.50`);
    });

    test('a changed reservation moves its owner to the new address', async () => {
      await up();
      const hwaddr = '02:00:00:00:07:01';
      await driver.setHosts(name, [host('gamma', hwaddr, `${ipv4}.60`)]);
      const client = await join(hwaddr, 'gamma');
      expect(await client.request()).toBe(`${ipv4}.60`);
      await driver.setHosts(name, [host('gamma', hwaddr, `${ipv4}.61`)]);
      expect(await client.request()).toBe(`${ipv4}.61`);
      expect(await harness.resolve(name, 'gamma')).toEqual([`${ipv4}.61`]);
    });

    test('a name that is no DNS label gets its address and no name', async () => {
      await up();
      const hwaddr = '02:00:00:00:08:01';
      const hostname = "it's $HOME, 12h";
      await driver.setHosts(name, [{ id: 'odd', hwaddr, hostname, ipv4: `${ipv4}.70` }]);
      expect(await (await join(hwaddr, 'odd')).request()).toBe(`${ipv4}.70`);
      expect((await driver.leases(name)).map((lease) => lease.hostname)).toEqual(['']);
    });

    test('the reservation with the smaller id applies of two with one address', async () => {
      await up();
      await driver.setHosts(name, [
        host('zeta', '02:00:00:00:09:02', `${ipv4}.80`),
        host('eta', '02:00:00:00:09:01', `${ipv4}.80`),
      ]);
      expect(await (await join('02:00:00:00:09:01', 'eta')).request()).toBe(`${ipv4}.80`);
      const other = await (await join('02:00:00:00:09:02', 'zeta')).request();
      expect(isIn(`${ipv4}.0/24`, other)).toBe(true);
      expect(other).not.toBe(`${ipv4}.80`);
    });

    test('an impossible reservation is refused as Invalid', async () => {
      await up();
      await expect(driver.setHosts(name, [host('theta', 'nonsense')])).rejects.toMatchObject({ code: 'Invalid' });
      const bad = host('theta', '02:00:00:00:0a:01', '10.0.0.1\n02:00:00:00:0a:02,evil');
      await expect(driver.setHosts(name, [bad])).rejects.toMatchObject({ code: 'Invalid' });
    });

    test('the name that a client asks for resolves with dns.mode dynamic, and no name with none', async () => {
      await up({ 'dns.mode': 'dynamic' });
      const client = await join('02:00:00:00:0b:01', 'iota');
      const address = await client.request();
      expect(await harness.resolve(name, 'iota')).toEqual([address]);
      await up({ 'dns.mode': 'none' });
      expect(await harness.resolve(name, 'iota')).toEqual([]);
    });

    test('releaseLease drops the leases of one hardware address without interrupting the others', async () => {
      await up();
      const client = await join('02:00:00:00:0c:01', 'kappa');
      const other = await join('02:00:00:00:0c:02', 'lambda');
      await client.request();
      const kept = await other.request();
      const service = harness.serviceId(name);
      await driver.releaseLease(name, client.hwaddr.toUpperCase());
      expect((await driver.leases(name)).map((lease) => lease.address)).toEqual([kept]);
      await driver.releaseLease(name, client.hwaddr);
      expect(harness.serviceId(name)).toBe(service);
    });

    test('a bad config is refused as Invalid with every problem named', async () => {
      const bad = { 'ipv4.address': '10.0.0.256/24', 'ipv4.natt': 'true', 'bridge.mtu': 'big' };
      const refused = expect(driver.up({ name, config: bad }, never)).rejects;
      await refused.toMatchObject({
        code: 'Invalid',
        message: expect.stringMatching(/256.*ipv4\.nat.*big/) as unknown,
      });
      expect(await harness.remains(name)).toEqual([]);
    });

    test('an unresolved auto is refused, and a fan is not supported', async () => {
      await expect(up({ 'ipv4.address': 'auto' })).rejects.toMatchObject({ code: 'Invalid' });
      await expect(driver.up({ name, config: { 'bridge.mode': 'fan' } }, never)).rejects.toMatchObject({
        code: 'NotSupported',
      });
    });

    test('a network that was never brought up has no leases, no state and takes no reservations', async () => {
      expect(await driver.leases(name)).toEqual([]);
      expect(await driver.state(name)).toBeUndefined();
      await expect(driver.setHosts(name, [])).rejects.toMatchObject({ code: 'NotFound' });
      await expect(driver.releaseLease(name, '02:00:00:00:00:01')).rejects.toMatchObject({ code: 'NotFound' });
    });

    test('fillConfig picks subnets at creation, resolves auto later, and then turns NAT on unless it is set', async () => {
      const fresh = await driver.fillConfig({ 'ipv6.address': 'none' }, { creating: true, taken: [] });
      expect(isIn('10.0.0.0/8', fresh['ipv4.address']?.replace('/24', ''))).toBe(true);
      expect(fresh).toMatchObject({ 'ipv4.nat': 'true', 'ipv6.address': 'none' });
      expect(fresh['ipv6.nat']).toBeUndefined();
      expect(await driver.fillConfig({}, { creating: false, taken: [] })).toEqual({});
      const auto = { 'ipv6.address': 'auto', 'ipv6.nat': 'false' };
      const later = await driver.fillConfig(auto, { creating: false, taken: [] });
      expect(later['ipv6.address']).toMatch(/^fd42:.*::1\/64$/);
      expect(later['ipv6.nat']).toBe('false');
    });

    test('fillConfig reports that every subnet is taken', async () => {
      await expect(driver.fillConfig({}, { creating: true, taken: ['10.0.0.0/8'] })).rejects.toMatchObject({
        code: 'Failed',
        message: expect.stringContaining('ipv4.address') as unknown,
      });
    });
  });
}
