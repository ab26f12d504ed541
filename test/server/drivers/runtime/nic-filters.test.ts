// The rules that restrict nics to their own addresses: their text, and the cost of a change.
import { spawnSync } from 'node:child_process';
import { afterAll, describe, expect, test, vi } from 'vitest';
import type { NicRun } from '../../../../server/drivers/device-parts.ts';
import { DriverError } from '../../../../server/drivers/driver-error.ts';
import {
  allFilters,
  filterTable,
  isFiltered,
  removeFilter,
  setFilter,
} from '../../../../server/drivers/runtime/nic/filter-rules.ts';
import { NftTables, removal } from '../../../../server/drivers/nft-tables.ts';
import { silentLog } from '../../../../server/lib/log.ts';
import { NicFilters } from '../../../../server/drivers/runtime/nic/filters.ts';
import { priorityTables, setNetworkPriority } from '../../../../server/drivers/runtime/nic/priority.ts';
import { nicDevice } from '../../../../server/drivers/devices/nic.ts';
import { thisHost } from '../../../../server/drivers/devices/host-paths.ts';
import { expectGolden } from '../../../support/golden.ts';
import { processSlowness } from '../../../support/hosts/slowness.ts';

const veth: NicRun = {
  device: 'eth0',
  kind: 'veth',
  name: 'eth0',
  hostName: 'veth1234',
  hwaddr: '00:16:3e:00:00:01',
  link: 'br0',
};

async function started(properties: Record<string, string>): Promise<NicRun> {
  const run = await nicDevice.start({
    device: 'eth0',
    properties: { type: 'nic', nictype: 'bridged', parent: 'br0', ...properties },
    containerUuid: 'u',
    volatile: { hwaddr: '00:16:3E:00:00:01' },
    takenNames: new Set(),
    rootfs: '',
    host: thisHost,
    volumeOf: () => undefined,
  });
  return run.nics[0]!;
}
const both = { ipv4: ['10.0.3.7'], ipv6: ['fd42::7'] };

/** Restores the filter of a nic with an nft that fails so often. */
async function restoredAfter(failures: number, fail = (): void => {}) {
  let left = failures;
  const applied: string[] = [];
  const apply = async (rules: string): Promise<void> => {
    left -= 1;
    if (left >= 0) fail();
    if (left >= 0) throw new DriverError('Failed', 'nft is busy');
    applied.push(rules);
  };
  const errors: string[] = [];
  const log = { debug() {}, info() {}, warn() {}, error: (message: string) => void errors.push(message) };
  const there = new Map([[filterTable('gtfl', 'bridge'), 100]]);
  const tables = new NftTables(log, { apply, list: async () => there });
  const filters = new NicFilters('gtfl', tables);
  const nics = ['vethended', 'vethfresh', 'vethstays'].map((hostName) => ({ ...veth, hostName, macFilter: true }));
  await filters.restore(nics.slice(0, 2), log);
  return { applied, errors, tables, filters, nics, work: () => (left = 0) };
}
const nicsIn = (rules: string | undefined): readonly string[] => [...new Set(rules?.match(/veth[a-z]+/g))];

describe('filters after a restart of the daemon', () => {
  test('a program that fails for a moment leaves no container without its filter', async () => {
    const { applied, errors, tables } = await restoredAfter(2);
    expect([applied.length, errors]).toEqual([1, []]);
    await tables.look();
    expect(applied).toHaveLength(1);
  });

  test('a failure that lasts is an error in the log, and the next change or look sets all filters', async () => {
    const { applied, errors, tables, filters, nics, work } = await restoredAfter(Number.POSITIVE_INFINITY);
    expect([applied, errors]).toEqual([[], [expect.stringContaining('their nics have no filters')]]);
    const [ended, , stays] = nics as [NicRun, NicRun, NicRun];
    await expect(filters.set(stays)).rejects.toThrow('the filter of device eth0 cannot be set by nft');
    work();
    await tables.look();
    expect(nicsIn(applied[0])).toEqual(['vethended', 'vethfresh']);
    await tables.look();
    await filters.remove(ended);
    await filters.set(stays);
    expect(applied.slice(1).map(nicsIn)).toEqual([['vethended'], ['vethstays']]);
  });

  test('a change sets all filters when they could not be restored', async () => {
    const { applied, filters, nics, work } = await restoredAfter(Number.POSITIVE_INFINITY);
    work();
    await filters.set(nics[2] as NicRun);
    await filters.remove(nics[0] as NicRun);
    expect(applied.map(nicsIn)).toEqual([['vethended', 'vethfresh', 'vethstays'], ['vethended']]);
  });
});

test('a program that hangs delays the start of the daemon once', async () => {
  let [runs, now] = [0, performance.now()];
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now);
  try {
    const { errors } = await restoredAfter(Number.POSITIVE_INFINITY, () => {
      runs += 1;
      now += 15_000;
    });
    expect([runs, errors]).toEqual([1, [expect.stringContaining('their nics have no filters')]]);
  } finally {
    clock.mockRestore();
  }
});

describe('the text of a filter', () => {
  test.each<[string, Partial<NicRun>]>([
    ['mac', { macFilter: true }],
    ['addresses', { macFilter: true, ipFilter: both }],
    ['no-addresses', { macFilter: true, ipFilter: { ipv4: [], ipv6: [] } }],
    ['none', { macFilter: true, ipFilter: { ipv4: [], ipv6: 'none' } }],
    ['routes', { macFilter: true, ipFilter: both, routes: ['10.4.0.0/16', '10.0.3.0/24', 'fd42:4::/60', 'fd42::/64'] }],
    ['isolated', { isolated: true }],
  ])('%s', (name, more) => {
    expectGolden(`nic-filters/${name}.nft`, setFilter({ ...veth, ...more }, 'cafe0001'));
  });

  test('all filters name each chain where they add it and its rules, and delete nothing but the table', () => {
    const nics = ['veth1', 'veth2'].map((hostName) => ({ ...veth, hostName, macFilter: true }));
    const [add, remove, ...rules] = allFilters(nics, 'cafe0001', 'bridge').trimEnd().split('\n');
    expect([add, remove]).toEqual(['add table bridge gantrynic_cafe0001', 'delete table bridge gantrynic_cafe0001']);
    expect(rules.filter((line) => /^add chain \S+ \S+ nic_/.test(line))).toHaveLength(2);
    expect(rules.filter((line) => line.startsWith('delete'))).toEqual([]);
    expect(rules.filter((line) => line.startsWith('add table'))).toHaveLength(1);
    expect(allFilters([], 'cafe0001', 'bridge')).toBe(`${add}\n${remove}\n`);
  });

  test('a nic without filter keys has no filter, and neither has a nic that is not bridged', () => {
    expect(isFiltered(veth)).toBe(false);
    expect(isFiltered({ ...veth, kind: 'macvlan', macFilter: true })).toBe(false);
    expect(isFiltered({ ...veth, isolated: true })).toBe(true);
  });

  test('none as an address drops every packet of the family, and without the filter does not affect DHCP', async () => {
    const addresses = { 'ipv4.address': 'none', 'ipv6.address': 'none' };
    const on = { 'security.ipv4_filtering': 'true', 'security.ipv6_filtering': 'true' };
    expect((await started({ ...addresses, ...on })).ipFilter).toEqual({ ipv4: [], ipv6: 'none' });
    expect((await started(addresses)).ipFilter).toBeUndefined();
  });

  test('a filter of addresses includes the MAC address filter, and allows only addresses of the nic', async () => {
    const nic = await started({
      'ipv4.address': '10.0.3.7',
      'security.ipv4_filtering': 'true',
      'security.ipv6_filtering': 'true',
      'security.port_isolation': 'true',
    });
    expect(nic).toMatchObject({ macFilter: true, ipFilter: { ipv4: ['10.0.3.7'], ipv6: [] }, isolated: true });
  });
});

const canFilter = spawnSync('nft', ['list', 'tables', 'bridge']).status === 0;
if (!canFilter)
  console.log('skipped: filters in the kernel: nft cannot list the bridge family (root and nftables are needed)');

describe.skipIf(!canFilter)('in the kernel', () => {
  const tag = `t${process.pid}`;
  const nft = (input: string): { status: number | null; err: string } => {
    const { status, stderr } = spawnSync('nft', ['-f', '-'], { input, encoding: 'utf8' });
    return { status, err: stderr };
  };
  const listed = (...flags: readonly string[]): string =>
    spawnSync('nft', [...flags, 'list', 'table', ...filterTable(tag, 'bridge').split(' ')], { encoding: 'utf8' })
      .stdout;
  afterAll(() => {
    nft(removal([filterTable(tag, 'bridge'), filterTable(tag, 'inet')]));
  });
  const nicOf = (index: number): NicRun => ({
    ...veth,
    hostName: `gtfl${index}`,
    hwaddr: `00:16:3e:00:01:${(index % 256).toString(16).padStart(2, '0')}`,
    macFilter: true,
    ipFilter: { ipv4: [`10.0.3.${index % 250}`], ipv6: [`fd42::${index.toString(16)}`] },
    isolated: true,
  });

  test('setting a filter twice is setting it once, and removing leaves nothing of it', () => {
    expect(nft(setFilter(nicOf(1), tag))).toEqual({ status: 0, err: '' });
    expect(nft(setFilter(nicOf(2), tag))).toEqual({ status: 0, err: '' });
    const once = listed();
    expect(nft(setFilter(nicOf(2), tag))).toEqual({ status: 0, err: '' });
    expect(listed().length).toBe(once.length);
    for (const index of [1, 2, 2]) expect(nft(removeFilter(nicOf(index), tag))).toEqual({ status: 0, err: '' });
    expect(listed()).not.toContain('gtfl');
    expect(listed()).not.toContain('chain nic_');
  });

  test('the kernel accepts a nic that may send nothing of a family', () => {
    expect(nft(setFilter({ ...nicOf(4), ipFilter: { ipv4: [], ipv6: 'none' } }, tag))).toEqual({ status: 0, err: '' });
    expect(listed()).toContain('ether type ip6 drop');
  });

  test('a routed nic has a separate table, which is removed with the last routed nic', async () => {
    const filters = new NicFilters(tag, new NftTables(silentLog));
    const routing = { addresses: ['10.0.9.5', 'fd42::5'], hostAddresses: [], tables: {}, probed: [] };
    const { link: _none, ...rest } = veth;
    const nic: NicRun = { ...rest, hostName: 'gtflr', routing, routes: ['10.0.0.0/8', '10.9.0.0/16'] };
    const table = (): string =>
      spawnSync('nft', ['list', 'table', ...filterTable(tag, 'inet').split(' ')], { encoding: 'utf8' }).stdout;
    await filters.set(nicOf(1));
    await filters.set(nic);
    expect(table()).toContain('ip6 saddr != { ::, fd42::5, fe80::/10 } drop');
    await filters.remove(nic);
    expect([table(), listed()]).toEqual(['', expect.stringContaining('gtfl1')]);
    await filters.remove(nicOf(1));
    expect(listed()).toBe('');
  });

  test('filters that somebody flushed are set again as they are at that moment, and those removed are not', async () => {
    const tables = new NftTables(silentLog);
    const filters = new NicFilters(tag, tables);
    for (const index of [1, 2]) await filters.set(nicOf(index));
    const all = listed();
    nft(removal([filterTable(tag, 'bridge')]));
    await tables.look();
    expect(listed()).toBe(all);
    await filters.remove(nicOf(2));
    nft(removal([filterTable(tag, 'bridge')]));
    await tables.look();
    expect([listed().includes('gtfl1'), listed().includes('gtfl2')]).toEqual([true, false]);
    await filters.remove(nicOf(1));
    await tables.look();
    expect(listed()).toBe('');
  });

  test('a table of which somebody removed rules, or a port from the map or the set, is set again', async () => {
    const lines: string[] = [];
    const tables = new NftTables({ ...silentLog, warn: (line) => void lines.push(line) });
    const filters = new NicFilters(tag, tables);
    const name = `chainrules${tag}`;
    for (const index of [1, 2]) await filters.set({ ...nicOf(index), isolated: true });
    const priority = { tables, tag };
    await setNetworkPriority(priority, name, [nicOf(1)], 3);
    const table = filterTable(tag, 'bridge');
    const all = listed();
    const handle = (): string => /iifname vmap @ports # handle (\d+)/.exec(listed('-a'))?.[1] ?? '';
    await tables.look();
    expect(lines).toEqual([]);
    for (const words of [
      `flush table ${table}`,
      `flush chain ${table} entering`,
      `delete element ${table} ports { "gtfl1" }`,
      `flush set ${table} isolated`,
      `delete rule ${table} entering handle `,
    ]) {
      expect(nft(words.endsWith('handle ') ? `${words}${handle()}` : words)).toEqual({ status: 0, err: '' });
      expect(listed()).not.toBe(all);
      await tables.look();
      expect([listed(), lines.splice(0)]).toEqual([all, [expect.stringContaining('were missing, and are set again')]]);
    }
    nft(`flush chain ${priorityTables(name, tag)[1]} routed`);
    await tables.look();
    expect(lines).toEqual([expect.stringContaining('gantryprio')]);
    await setNetworkPriority(priority, name, [], 0);
    for (const index of [1, 2]) await filters.remove(nicOf(index));
  });

  test('subnets that contain an address of the nic, or each other, are accepted', () => {
    const routes = ['10.0.0.0/8', '10.0.3.0/24', 'fd42::/64', 'fd42::/61', 'fd42::/48'];
    expect(nft(setFilter({ ...nicOf(3), routes }, tag))).toEqual({ status: 0, err: '' });
  });

  test('a change beside 200 filtered nics takes less than 20 ms of work', () => {
    expect(
      nft(
        allFilters(
          Array.from({ length: 200 }, (_, index) => nicOf(index)),
          tag,
          'bridge',
        ),
      ),
    ).toEqual({ status: 0, err: '' });
    const costs = Array.from({ length: 7 }, (_, index) => {
      const input = index % 2 === 0 ? setFilter(nicOf(201), tag) : removeFilter(nicOf(201), tag);
      const script = 'TIMEFORMAT="%U %S"; time nft -f -';
      const { stderr } = spawnSync('bash', ['-c', script], { input, encoding: 'utf8' });
      const [user = NaN, system = NaN] = stderr.trim().split(' ').map(Number);
      return (user + system) * 1000;
    });
    console.log(`a change beside 200 filtered nics: ${costs.join(', ')} ms of processor`);
    expect(Math.min(...costs)).toBeLessThan(20 * processSlowness());
  });
});
