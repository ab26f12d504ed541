// The end of a container's forwards, when the kernel refuses a part of it.
import { expect, test } from 'vitest';
import { Proxies } from '../../../../server/drivers/devices/proxy/proxies.ts';
import { planProxy } from '../../../../server/drivers/devices/proxy/proxy-plan.ts';
import { NftTables } from '../../../../server/drivers/nft-tables.ts';
import { silentLog } from '../../../../server/lib/log.ts';

test('a forward that cannot be closed does not keep the others open, and is closed at the next attempt', async () => {
  const tables = new Set<string>();
  let isBusy = false;
  const apply = async (rules: string): Promise<void> => {
    const table = /^delete table inet (\S+)$/m.exec(rules)?.[1] ?? '';
    const isMade = rules.includes(`table inet ${table} {`);
    if (isBusy && table === [...tables][0]) throw new Error('nft is busy');
    if (isMade) tables.add(table);
    else tables.delete(table);
  };
  const proxies = new Proxies({
    log: silentLog,
    tables: new NftTables(silentLog, { apply, list: async () => new Map() }),
    tag: 'cafe0001',
  });
  for (const [device, port] of [
    ['dns', 53],
    ['web', 80],
    ['mail', 25],
  ] as const) {
    const properties = { listen: `tcp:10.0.0.1:${port}`, connect: `tcp:10.0.3.7:${port}`, nat: 'true' };
    await proxies.open('c1', planProxy(device, properties), 1);
  }
  expect(tables.size).toBe(3);
  isBusy = true;
  await expect(proxies.closeAll('c1')).rejects.toThrow('the kernel still forwards');
  expect(tables.size).toBe(1);
  isBusy = false;
  await proxies.closeAll('c1');
  expect(tables.size).toBe(0);
});
