// The daemon of a member is killed while the cluster certificate changes: after its start it serves the pair in the record.
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { createPrivateKey, X509Certificate } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeCluster, type TestCluster, type TestMember, tokenOf } from '../../../support/cluster/members.ts';
import { type Bundle, bundleDaemon } from '../../../support/daemons/child-process.ts';
import { type Gantryd, startGantryd } from '../../../support/daemons/gantryd.ts';
import { freePort } from '../../../support/hosts/free-port.ts';
import { isLongRun } from '../../../support/left-out.ts';
import { etcdMissing } from '../../../support/store/etcd.ts';
import { until } from '../../../support/until.ts';
import { makePair } from '../../../support/daemons/tls.ts';

/** Delays from the request to the kill: the record is written after about 20 ms, and used once the other member knows it. */
const delaysMs = isLongRun ? [0, 15, 40, 80, 120, 200] : [0, 40, 120];

describe.skipIf(etcdMissing() !== undefined)('a member that is killed', () => {
  let bundle: Bundle;
  let cluster: TestCluster;
  let one: TestMember;
  let host: Gantryd;
  beforeAll(async () => {
    bundle = bundleDaemon();
    cluster = await makeCluster(1);
    one = cluster.members[0] ?? expect.unreachable();
    host = await startGantryd({ gantryd: bundle.entry }, { runtime: 'sim' });
    const asked = await one.call('POST', '/1.0/cluster/members', { server_name: 'two' });
    const address = `127.0.0.1:${await freePort()}`;
    const token = tokenOf(asked.body.metadata.metadata as Record<string, unknown>);
    const body = { server_name: 'two', enabled: true, server_address: address, cluster_token: token };
    const answer = await host.call('PUT', '/1.0/cluster', body);
    await host.call('GET', `${String(answer.body.operation)}/wait`);
  });
  afterAll(async () => {
    await host?.kill();
    if (host !== undefined) rmSync(host.dir, { recursive: true, force: true });
    await cluster?.cleanUp();
  });

  test('while it changes the certificate has the complete old or new pair, and so has the other member', async () => {
    const seen = new Set<boolean>();
    for (const delay of delaysMs) {
      const before = readFileSync(join(one.dir, 'cluster.crt'), 'utf8');
      const pair = await makePair(`after ${delay}`, { subjectAltNames: ['127.0.0.1'], usage: 'server' });
      const sent = { cluster_certificate: pair.certPem, cluster_certificate_key: pair.keyPem };
      const asking = host.call('PUT', '/1.0/cluster/certificate', sent).catch(() => undefined);
      await sleep(delay);
      await host.kill();
      await asking;
      await host.start();
      const cert = readFileSync(join(host.dir, 'cluster.crt'), 'utf8');
      const key = createPrivateKey(readFileSync(join(host.dir, 'cluster.key'), 'utf8'));
      expect([before, pair.certPem]).toContain(cert);
      expect(new X509Certificate(cert).checkPrivateKey(key)).toBe(true);
      await until(() => Promise.resolve(readFileSync(join(one.dir, 'cluster.crt'), 'utf8') === cert));
      // Each member is reached through the other.
      for (const member of ['m1', 'two']) {
        expect((await one.call('GET', `/1.0/resources?target=${member}`)).status).toBe(200);
        expect((await host.call('GET', `/1.0/resources?target=${member}`)).status).toBe(200);
      }
      seen.add(cert === pair.certPem);
    }
    // Usually both outcomes occur, depending on the load.
    console.log(
      `after the kills the certificate was ${[...seen].map((isNew) => (isNew ? 'new' : 'the former')).join(' and ')}`,
    );
  });
});
