// The table of containers starts with the columns that people need first: state, addresses, image.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { cli } from '../../support/cli/io.ts';
import { openBench, type Bench } from '../../support/cli/daemon-with-manifests.ts';

let bench: Bench;
beforeEach(async () => {
  bench = await openBench('sim');
});
afterEach(() => bench.close());

test('get container has columns for addresses and the image; its other output formats are lists without state', async () => {
  const get = (...more: readonly string[]) =>
    cli(['get', 'container', ...more, '--host', `unix://${bench.daemon.socketPath}`]);
  const { config, state } = (await bench.get('/1.0/containers?recursion=2'))[0] as {
    config: Record<string, string>;
    state: { network: Record<string, { addresses: { scope: string; address: string }[] }> };
  };
  const [address = ''] = (state.network['eth0']?.addresses ?? [])
    .filter(({ scope }) => scope === 'global')
    .map((one) => one.address);
  expect(address).toMatch(/^10\./);
  const [head = '', row = ''] = (await get()).stdout.split('\n');
  expect(head.split(/ +/)).toEqual(['NAME', 'STATUS', 'ADDRESSES', 'IMAGE', 'PROFILES', 'DESCRIPTION']);
  expect(row.split(/ +/).slice(0, 5)).toEqual([
    'c1',
    'Running',
    address,
    config['volatile.base_image']?.slice(0, 12),
    'small',
  ]);
  expect(JSON.parse((await get('-o', 'json')).stdout)[0]).not.toHaveProperty('state');
});
