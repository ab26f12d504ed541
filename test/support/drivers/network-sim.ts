// Drives the simulated driver for the network conformance suite.
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openSimNetwork, type SimNetwork } from '../../../server/drivers/network/sim.ts';
import type { NetworkHarness } from '../../conformance/network.ts';

export async function makeSimHarness(): Promise<NetworkHarness> {
  const dir = await mkdtemp(join(tmpdir(), 'gtyn-sim-'));
  let driver: SimNetwork;
  let count = 0;
  return {
    open() {
      driver = openSimNetwork({ dir });
      return driver;
    },
    fresh() {
      count += 2;
      return {
        name: `gtyn${count}`,
        ipv4: `10.213.${count}`,
        otherIpv4: `10.213.${count + 1}`,
        ipv6: `fd42:213:${count}`,
      };
    },
    async join(network, client) {
      return {
        hwaddr: client.hwaddr,
        request: async () => driver.leaseFor(network, client).ipv4,
        ipv6: async () => {
          const inet6 = driver.addressesFor(network, client).filter((entry) => entry.family === 'inet6');
          return inet6.map((entry) => entry.address);
        },
        leave: async () => {},
      };
    },
    resolve: async (network, hostname) => driver.lookup(network, hostname),
    serviceId: () => 'always the same',
    async remains(network) {
      return (await readdir(dir)).filter((file) => file.startsWith(`${network}.`));
    },
    sabotage(network) {
      driver.faults.inject({ operation: 'up', network, error: 'told to', times: 1 });
      return {};
    },
    foreignInterface: async () => 'eth0',
    cleanup: () => rm(dir, { recursive: true, force: true }),
  };
}
