// The simulated network driver: the conformance suite, and what only it can do.
import * as fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { openSimNetwork, SimNetworkFaults } from '../../../../server/drivers/network/sim.ts';
import { networkConformance } from '../../../conformance/network.ts';
import { makeSimHarness } from '../../../support/drivers/network-sim.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

networkConformance('simulated networks', makeSimHarness);

const never = new AbortController().signal;

describe('simulated networks, their own powers', () => {
  let dir: string;
  beforeEach(() => void (dir = tempFolder('gtyn-sim-')));

  test('counters move with time', async () => {
    let now = 1000;
    const driver = openSimNetwork({ dir, now: () => now });
    await driver.up({ name: 'net0', config: { 'ipv4.address': '10.1.1.1/24' } }, never);
    const before = (await driver.state('net0'))?.counters.bytes_received ?? 0;
    now += 5000;
    expect((await driver.state('net0'))?.counters.bytes_received).toBeGreaterThan(before);
  });

  test('a fault happens as often as told, and names the operation and the network', async () => {
    const faults = new SimNetworkFaults();
    const driver = openSimNetwork({ dir, faults });
    faults.inject({ operation: 'up', network: 'net0', error: 'no luck', times: 1 });
    const spec = { name: 'net0', config: { 'ipv4.address': '10.1.1.1/24' } };
    await expect(driver.up(spec, never)).rejects.toThrow('up of network net0');
    await driver.up(spec, never);
  });

  test('a slow operation ends with the reason when it is aborted', async () => {
    const driver = openSimNetwork({ dir });
    driver.faults.inject({ operation: 'up', delayMs: 60_000 });
    const abort = new AbortController();
    const going = driver.up({ name: 'net0', config: {} }, abort.signal);
    const reason = new Error('enough');
    abort.abort(reason);
    await expect(going).rejects.toBe(reason);
  });

  test('clients get leased and reserved IPv6 addresses with ipv6.dhcp.stateful', async () => {
    const driver = openSimNetwork({ dir });
    const config = { 'ipv6.address': 'fd42:1::1/64', 'ipv6.dhcp.stateful': 'true' };
    await driver.up({ name: 'net0', config }, never);
    const hwaddr = '02:00:00:00:00:01';
    await driver.setHosts('net0', [{ id: 'a', hwaddr, hostname: 'a', ipv6: 'fd42:1::50' }]);
    expect(driver.leaseFor('net0', { hwaddr })).toEqual({ ipv6: 'fd42:1::50' });
    const other = driver.leaseFor('net0', { hwaddr: '02:00:00:00:00:02' }).ipv6;
    expect(other).toMatch(/^fd42:1::/);
    expect((await driver.leases('net0')).map((lease) => lease.address)).toEqual(['fd42:1::50', other]);
  });

  test('whatever clients and reservations come and go, no address is given twice and none outside its subnet', async () => {
    const driver = openSimNetwork({ dir });
    const config = { 'ipv4.address': '10.1.1.1/28' };
    const client = fc.integer({ min: 1, max: 20 });
    const step = fc.oneof(
      fc.record({ do: fc.constant('ask' as const), client }),
      fc.record({ do: fc.constant('release' as const), client }),
      fc.record({ do: fc.constant('reserve' as const), client, last: fc.integer({ min: 2, max: 14 }) }),
    );
    const hwaddrOf = (n: number): string => `02:00:00:00:00:${n.toString(16).padStart(2, '0')}`;
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        await driver.down('net0');
        await driver.up({ name: 'net0', config }, never);
        for (const each of steps) {
          const hwaddr = hwaddrOf(each.client);
          if (each.do === 'release') await driver.releaseLease('net0', hwaddr);
          else if (each.do === 'reserve') {
            await driver.setHosts('net0', [{ id: 'r', hwaddr, hostname: 'r', ipv4: `10.1.1.${each.last}` }]);
            expect(driver.leaseFor('net0', { hwaddr }).ipv4).toBe(`10.1.1.${each.last}`);
          } else {
            const first = driver.leaseFor('net0', { hwaddr });
            expect(driver.leaseFor('net0', { hwaddr })).toEqual(first);
          }
          const addresses = (await driver.leases('net0')).map((lease) => lease.address);
          expect(new Set(addresses).size).toBe(addresses.length);
          for (const address of addresses) expect(address).toMatch(/^10\.1\.1\.([2-9]|1[0-4])$/);
        }
      }),
      { numRuns: 60 },
    );
  });
});
