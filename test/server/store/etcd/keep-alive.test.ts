// Renewals of leases share one stream; when it stops carrying answers, the next renewal uses another one.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { EtcdLink } from '../../../../server/store/etcd/link.ts';
import { KeepAlive } from '../../../../server/store/etcd/keep-alive.ts';
import { openRelay, type Relay } from '../../../support/store/cuttable.ts';
import { etcdMissing, startEtcd, type TestEtcd } from '../../../support/store/etcd.ts';

const ttlSeconds = 60;

describe.skipIf(etcdMissing() !== undefined)('renewals', () => {
  let etcd: TestEtcd;
  let relay: Relay;
  let link: EtcdLink;
  let renewals: KeepAlive;
  beforeAll(async () => {
    etcd = await startEtcd();
  });
  afterAll(() => etcd?.stop());
  const open = async (): Promise<void> => {
    relay = await openRelay(etcd.endpoints[0] ?? '');
    // Alone: on a busy machine it would be left before it is cut.
    link = new EtcdLink({ endpoints: [relay.address] });
    renewals = new KeepAlive(link);
  };
  afterEach(() => {
    renewals.close();
    link.close();
    relay.close();
  });

  const grant = async (): Promise<string> => (await link.call('LeaseGrant', { TTL: ttlSeconds })).ID;
  /** Streams of renewals that etcd has seen. */
  const streams = async (): Promise<number> => {
    const text = await (await fetch(`http://${etcd.endpoints[0]}/metrics`)).text();
    const found = /^grpc_server_started_total\{.*grpc_method="LeaseKeepAlive".*\} (\d+)$/m.exec(text);
    return Number(found?.[1]);
  };

  test('renewals of several leases, one after the other and at once, use one stream', async () => {
    await open();
    const before = await streams();
    const [one, two] = [await grant(), await grant()];
    for (let n = 0; n < 5; n += 1) expect(await renewals.renew(one)).toBe(ttlSeconds);
    await link.call('LeaseRevoke', { ID: two });
    expect(await Promise.all([one, two, one].map((id) => renewals.renew(id)))).toEqual([ttlSeconds, 0, ttlSeconds]);
    expect((await streams()) - before).toBe(1);
  });

  test('use another stream after a renewal without an answer, and after the stream has ended', async () => {
    await open();
    const lease = await grant();
    expect(await renewals.renew(lease)).toBe(ttlSeconds);
    relay.cut('answers');
    link.useEndpoints([relay.address, ...etcd.endpoints]);
    await expect(renewals.renew(lease)).rejects.toMatchObject({ kind: 'unreachable' });
    expect(await renewals.renew(lease)).toBe(ttlSeconds);
    expect(link.endpoint).toBe(etcd.endpoints[0]);
    renewals.close();
    expect(await renewals.renew(lease)).toBe(ttlSeconds);
  });

  test('renewals that wait fail when the link is closed', async () => {
    await open();
    const lease = await grant();
    expect(await renewals.renew(lease)).toBe(ttlSeconds);
    relay.cut('answers');
    const waiting = expect(renewals.renew(lease)).rejects.toThrow(/closed/);
    await new Promise((resolve) => setImmediate(resolve));
    link.close();
    await waiting;
  });
});
