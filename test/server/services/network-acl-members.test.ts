// One network ACL that two members of a cluster change at once: both work on one store.
import { expect, onTestFinished, test } from 'vitest';
import { EventHub } from '../../../server/events/hub.ts';
import { systemClock } from '../../../server/lib/clock.ts';
import { KeyedMutex } from '../../../server/lib/keyed-mutex.ts';
import { silentLog } from '../../../server/lib/log.ts';
import { Records } from '../../../server/records/records.ts';
import { NetworkAcls } from '../../../server/services/networks/network-acls.ts';
import { daemonCaller } from '../../../server/services/shared/caller.ts';
import { openMemoryStore } from '../../../server/store/memory/memory.ts';

const rule = (port: number) =>
  ({ action: 'allow', state: 'enabled', protocol: 'tcp', destination_port: `${port}` }) as const;

async function twoMembers() {
  const store = openMemoryStore();
  const end = new AbortController();
  onTestFinished(() => end.abort());
  const member = async (): Promise<NetworkAcls> => {
    const records = await Records.open(store);
    void records.follow(end.signal, () => {});
    const events = new EventHub(systemClock());
    return new NetworkAcls({
      records,
      network: { setRules: async () => {} },
      events,
      locks: new KeyedMutex(),
      log: silentLog,
    });
  };
  const [one, two] = [await member(), await member()];
  await one.create(daemonCaller, { name: 'web', ingress: [], egress: [], config: {} });
  await expect.poll(() => two.names()).toEqual(['web']);
  return { one, two };
}

test('changes in part of one ACL at two members at the same moment are both kept', async () => {
  const { one, two } = await twoMembers();
  for (let round = 0; round < 20; round += 1) {
    await Promise.all([
      one.patch(daemonCaller, 'web', { ingress: [rule(1000 + round)] }, undefined),
      two.patch(daemonCaller, 'web', { egress: [rule(2000 + round)], config: { [`user.r${round}`]: 'x' } }, undefined),
    ]);
    await expect
      .poll(() => one.get('web').object)
      .toMatchObject({
        ingress: [rule(1000 + round)],
        egress: [rule(2000 + round)],
        config: { [`user.r${round}`]: 'x' },
      });
    await expect.poll(() => two.get('web').etag).toBe(one.get('web').etag);
  }
});

test('one of two replacements with the same ETag at two members wins, and the other is refused', async () => {
  const { one, two } = await twoMembers();
  for (let round = 0; round < 20; round += 1) {
    const { etag } = one.get('web');
    const results = await Promise.allSettled(
      [one, two].map((member, index) =>
        member.put(daemonCaller, 'web', { ingress: [rule(1000 + 2 * round + index)] }, etag),
      ),
    );
    const refused = results.flatMap((result) => (result.status === 'rejected' ? [result.reason as unknown] : []));
    expect(refused).toMatchObject([{ code: 'preconditionFailed' }]);
    await expect.poll(() => two.get('web').etag).toBe(one.get('web').etag);
  }
});

test('a change that fails and cannot be undone throws why it failed, and logs both reasons', async () => {
  const records = await Records.open(openMemoryStore());
  const reasons: string[] = [];
  const lines: string[] = [];
  const acls = new NetworkAcls({
    records,
    network: {
      setRules: () => {
        const reason = reasons.shift();
        return reason === undefined ? Promise.resolve() : Promise.reject(new Error(reason));
      },
    },
    events: new EventHub(systemClock()),
    locks: new KeyedMutex(),
    log: { ...silentLog, error: (line) => void lines.push(line) },
  });
  await acls.create(daemonCaller, { name: 'web', ingress: [], egress: [], config: {} });
  const config = { 'security.acls': 'web', 'ipv4.address': '10.1.2.1/24' };
  const network = { v: 1, description: '', type: 'bridge', config, lifecycle: 'ready' } as const;
  await records.commit((changes) => changes.put('networks', 'br0', network));
  reasons.push('the first reason', 'the second reason');
  await expect(acls.patch(daemonCaller, 'web', { ingress: [rule(80)] }, undefined)).rejects.toThrow('the first reason');
  expect(lines).toEqual([expect.stringMatching(/web.*the first reason.*could not be undone.*the second reason/)]);
  expect(acls.get('web').object.ingress).toEqual([]);
});
