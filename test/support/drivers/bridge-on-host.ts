// A real network for each test of a file, with clients in network namespaces, and a machine beyond the host.
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest';
import type { NetworkDriver } from '../../../server/drivers/network/driver.ts';
import { exec } from '../../../server/lib/exec.ts';
import { until } from '../until.ts';
import { type BridgeHarness, makeBridgeHarness } from './network-bridge.ts';
import { joinNetns, type Netns } from './network-namespace.ts';

export const never: AbortSignal = new AbortController().signal;

export const ip = async (...args: string[]): Promise<string> => (await exec(['ip', ...args])).stdout;

export class BridgeOnHost {
  harness!: BridgeHarness;
  /** Tests may replace it by one that a later daemon would open. */
  driver!: NetworkDriver;
  name = '';
  ipv4 = '';
  ipv6 = '';
  config: Record<string, string> = {};
  readonly clients: Netns[] = [];

  begin(): void {
    this.driver = this.harness.open();
    ({ name: this.name, ipv4: this.ipv4, ipv6: this.ipv6 } = this.harness.fresh());
    this.config = { 'ipv4.address': `${this.ipv4}.1/24`, 'ipv6.address': 'none' };
  }

  async end(): Promise<void> {
    for (const client of this.clients.splice(0)) await client.leave();
    await this.driver.down(this.name);
  }

  readonly up = (changes: Record<string, string> = {}): Promise<void> =>
    this.driver.up({ name: this.name, config: { ...this.config, ...changes } }, never);

  readonly join = async (last: number): Promise<Netns> => {
    const hwaddr = `02:00:00:00:ff:${last.toString(16).padStart(2, '0')}`;
    const client = await joinNetns(this.harness.prefix, this.name, { hwaddr, hostname: 'client' });
    this.clients.push(client);
    return client;
  };

  /** Addresses beyond the host: the host has the first one, the machine there the second. */
  readonly far = (last: number): string => `${this.harness.outside.ipv4}.${last}`;
  readonly far6 = (last: number): string => `${this.harness.outside.ipv6}::${last}`;

  /** A machine without a route to any of our networks: it answers only what was masqueraded. */
  readonly outsideMachine = async (): Promise<Netns> => {
    const outside = await this.cable(1);
    await exec(['ip', 'addr', 'add', `${this.far(1)}/30`, 'dev', outside.hostEnd]);
    await exec(['ip', 'addr', 'add', `${this.far6(1)}/126`, 'dev', outside.hostEnd, 'nodad']);
    await outside.run(['ip', 'addr', 'add', `${this.far(2)}/30`, 'dev', 'eth0']);
    await outside.run(['ip', 'addr', 'add', `${this.far6(2)}/126`, 'dev', 'eth0', 'nodad']);
    return outside;
  };

  /** A machine on a cable to the host, in no network. */
  readonly cable = async (last: number): Promise<Netns> => {
    const hwaddr = `02:00:00:00:fe:0${last}`;
    const outside = await joinNetns(this.harness.prefix, undefined, { hwaddr, hostname: 'outside' });
    this.clients.push(outside);
    return outside;
  };

  /** Waits until the client reaches an address; a failure shows what IPv6 of client, host and outside machine looks like. */
  readonly reaches = async (client: Netns, address: string): Promise<void> => {
    try {
      await until(() => canPing(client, address));
    } catch (error) {
      const lists = ['addr', 'route', 'neigh'].map((list) => ['-6', list]);
      const inside = this.clients.map(async (each) => [
        each.netns,
        ...(await Promise.all(lists.map(async (list) => (await each.run(['ip', ...list])).stdout))),
      ]);
      const onHost = lists.map((list) => ip(...list));
      const rules = exec(['nft', 'list', 'ruleset']).then(({ stdout }) => stdout);
      const seen = [...(await Promise.all(inside)).flat(), 'host', ...(await Promise.all([...onHost, rules]))];
      throw new Error(`${address} does not answer:\n${seen.join('\n')}`, { cause: error });
    }
  };
}

export async function canPing(client: Netns, address: string): Promise<boolean> {
  const program = address.includes(':') ? 'ping6' : 'ping';
  return (await client.run(['busybox', program, '-c', '1', '-W', '1', address], [0, 1])).code === 0;
}

/** Call it in the `describe` of tests that each get a network of their own, which is not up yet. */
export function bridgeOnHost(): BridgeOnHost {
  const net = new BridgeOnHost();
  beforeAll(async () => {
    net.harness = await makeBridgeHarness();
  });
  afterAll(() => net.harness?.cleanup());
  beforeEach(() => net.begin());
  afterEach(() => net.end());
  return net;
}
