// The look at the networks of a host each minute: what did not come up, and whose dnsmasq has ended.
import { expect, test } from 'vitest';
import type { NetworkDocument } from '../../../server/records/documents.ts';
import { KeyedMutex } from '../../../server/lib/keyed-mutex.ts';
import { silentLog } from '../../../server/lib/log.ts';
import { until } from '../../support/until.ts';
import { NetworkWatch, type NetworkWatchDeps } from '../../../server/services/networks/network-watch.ts';

const documentOf = (lifecycle: string, config = {}): NetworkDocument =>
  ({ lifecycle, config }) as unknown as NetworkDocument;

function watched(documents: Readonly<Record<string, NetworkDocument>>) {
  const [up, ended, warnings]: [string[], Set<string>, string[]] = [[], new Set(), []];
  let failure: Error | undefined;
  let hanging: Promise<void> | undefined;
  const hang = (): (() => void) => {
    let free = (): void => {};
    hanging = new Promise((resolve) => (free = resolve));
    return free;
  };
  const networks = {
    list: () => Object.entries(documents).map(([name, document]) => ({ name, document })),
    get: (name: string) => ({ name, document: documents[name] }),
  };
  const deps = {
    records: { networks, networkAcls: { has: () => false, get: () => undefined, list: () => [] } },
    network: {
      isServing: async ({ name }: { name: string }) => !ended.has(name),
      up: async ({ name }: { name: string }) => {
        up.push(name);
        await hanging;
        if (failure !== undefined) throw failure;
        ended.delete(name);
      },
    },
    hosts: { refresh: async () => {} },
    locks: new KeyedMutex(),
    log: { ...silentLog, warn: (text: string) => void warnings.push(text) },
  } as unknown as NetworkWatchDeps;
  return { watch: new NetworkWatch(deps), up, ended, warnings, hang, fail: (error?: Error) => (failure = error) };
}

test('a network whose dnsmasq has ended comes up again, and no other; one that is being changed is left alone', async () => {
  const { watch, up, ended, warnings } = watched({
    br0: documentOf('ready'),
    br1: documentOf('ready'),
    br2: documentOf('creating'),
  });
  await watch.look();
  expect(up).toEqual([]);
  ended.add('br1').add('br2');
  await watch.look();
  await watch.look();
  expect([up, warnings]).toEqual([
    ['br1'],
    ['The network br1 has lost its bridge, its dnsmasq or an address: it is brought up again'],
  ]);
});

test('a dnsmasq that does not start again is a problem of its network until it does', async () => {
  const { watch, up, ended, warnings, fail } = watched({ br0: documentOf('ready') });
  ended.add('br0');
  fail(new Error('port 53 is taken'));
  await watch.look();
  await watch.look();
  expect([...watch.problems]).toEqual([['br0', 'The network br0 cannot be brought up: port 53 is taken']]);
  fail();
  await watch.look();
  expect([[...watch.problems], up.length, warnings.length]).toEqual([[], 3, 1]);
});

test('a network that cannot be planned from its config is a problem, not one whose dnsmasq has ended', async () => {
  const { watch, up, warnings } = watched({ br0: documentOf('ready', { 'security.acls': 'gone' }) });
  await watch.look();
  await watch.look();
  expect([up, warnings]).toEqual([[], []]);
  expect([...watch.problems]).toEqual([['br0', expect.stringContaining('network ACL gone')]]);
});

test('networks come up side by side, those with interfaces of the host one after the other', async () => {
  const uplink = (name: string) => ({ 'bridge.external_interfaces': name });
  const { watch, up, hang } = watched({
    br0: documentOf('ready'),
    br1: documentOf('ready', uplink('eth1')),
    br2: documentOf('ready'),
    br3: documentOf('ready', uplink('eth1')),
  });
  const free = hang();
  const all = watch.upAll();
  await until(() => up.length === 3);
  expect(up.toSorted()).toEqual(['br0', 'br1', 'br2']);
  free();
  await all;
  expect(up).toHaveLength(4);
  expect(up[3]).toBe('br3');
});
