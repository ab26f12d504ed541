// Three etcds are restarted one after the other under load, and an etcd whose certificate is wrong is passed over.
import { createPrivateKey } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { EtcdMembership } from '../../../../server/membership/etcd/membership.ts';
import { makeSigned } from '../../../../server/lib/self-signed.ts';
import { openEtcdStore } from '../../../../server/store/etcd/etcd.ts';
import { etcdMissing } from '../../../support/store/etcd.ts';
import { type EtcdNest, openEtcdNest, type SupervisedEtcd } from '../../../support/store/supervised-etcd.ts';
import { put } from '../../../support/store/watching.ts';
import { until } from '../../../support/until.ts';
import { makePair } from '../../../support/daemons/tls.ts';

const missing = etcdMissing();

describe.skipIf(missing !== undefined)('etcds of a cluster', () => {
  let nest: EtcdNest;
  beforeEach(async () => {
    nest = await openEtcdNest();
  });
  afterEach(() => nest.close());

  test('are restarted one after the other, and no write waits for long', async () => {
    const etcds: SupervisedEtcd[] = [await nest.member('m0', { kind: 'new', token: 'x' })];
    for (const name of ['m1', 'm2']) etcds.push(await nest.member(name, { kind: 'join', peers: [] }));
    const options = { endpoints: etcds.map(({ start }) => start.clientAddress), tls: nest.tls };
    const membership = new EtcdMembership(options);
    for (const [index, { process, start }] of etcds.entries()) {
      if (index === 0) {
        await process.start(start);
        continue;
      }
      const { added, members } = await membership.addLearner(start.peerAddress);
      const peers = members.map(({ id, name, peerAddress }) => ({
        name: id === added.id ? start.name : name,
        peerAddress,
      }));
      await process.start({ ...start, first: { kind: 'join', peers } });
      await membership.promote(added.id);
    }
    const store = await openEtcdStore({ ...options, name: 'x', writer: 'test' });
    const over = new AbortController();
    const latencies: number[] = [];
    const failures: unknown[] = [];
    const write = async (writer: number): Promise<void> => {
      for (let n = 0; !over.signal.aborted; n += 1) {
        const from = performance.now();
        await store.txn([], [put(`/${writer}/${n % 100}`, String(n))]).catch((error: unknown) => failures.push(error));
        latencies.push(performance.now() - from);
      }
    };
    const writing = Promise.all([0, 1, 2, 3].map(write));
    for (const { process, start } of etcds) {
      await membership.moveLeaderAway(start.clientAddress);
      await process.stop();
      await process.start(start);
      const isBack = () =>
        membership.statusOf(start.clientAddress).then(
          ({ leader }) => leader !== '0',
          () => false,
        );
      await until(isBack);
      const { length } = latencies;
      await until(() => latencies.length > length + 50);
    }
    over.abort();
    await writing;
    await store.close();
    membership.close();
    expect(failures).toEqual([]);
    latencies.sort((a, b) => a - b);
    const [p99 = 0, longest = 0] = [latencies[Math.floor(latencies.length * 0.99)], latencies.at(-1)];
    console.log(
      `rolling restart: ${latencies.length} writes, p99 ${p99.toFixed(0)} ms, longest ${longest.toFixed(0)} ms`,
    );
    expect(p99).toBeLessThan(30_000);
  });

  test.each(['another name', 'a time that has passed'])(
    'whose certificate is for %s are passed over for one that is right, and never trusted alone',
    async (what) => {
      const right = await nest.member('right', { kind: 'new', token: 'x' });
      const wrong = await nest.member('wrong', { kind: 'new', token: 'y' });
      // An authority that has signed a good client certificate, and a wrong one for the server.
      const { keyPem } = await makePair('x', { usage: 'server' });
      const { makeEtcdCertificates, onlyIssuer } = await import('../../../../server/membership/etcd/certificates.ts');
      const issuer = {
        commonName: 'etcd of the cluster',
        organization: 'gantry',
        privateKey: createPrivateKey(keyPem),
      };
      const good = await makeEtcdCertificates(onlyIssuer(keyPem), { name: 'client', hosts: [] }, new Date());
      const bad =
        what === 'another name'
          ? await makeSigned(
              {
                commonName: 'wrong',
                organization: 'gantry',
                subjectAltNames: ['10.99.99.99'],
                notBefore: new Date(Date.now() - 60_000),
                notAfter: new Date(Date.now() + 600_000),
                usage: 'peer',
              },
              issuer,
            )
          : await makeEtcdCertificates(onlyIssuer(keyPem), { name: 'wrong', hosts: [] }, new Date('2010-01-01'));
      for (const [{ start }, pair] of [
        [right, good],
        [wrong, bad],
      ] as const) {
        mkdirSync(join(start.dir, '..', 'tls'), { recursive: true });
        writeFileSync(start.tls.ca, good.caPem);
        writeFileSync(start.tls.cert, pair.certPem);
        writeFileSync(start.tls.key, pair.keyPem);
      }
      await right.process.start(right.start);
      await wrong.process.start(wrong.start);
      const tls = {
        ca: readFileSync(right.start.tls.ca),
        cert: Buffer.from(good.certPem),
        key: Buffer.from(good.keyPem),
      };
      const open = (totalMs: number, ...endpoints: string[]) =>
        openEtcdStore({ endpoints, name: 'x', tls, attemptMs: 500, totalMs });
      await expect(open(2_000, wrong.start.clientAddress)).rejects.toMatchObject({ code: 'Unavailable' });
      const store = await open(60_000, wrong.start.clientAddress, right.start.clientAddress);
      expect(await store.txn([], [put('/a')])).toMatchObject({ ok: true });
      await store.close();
    },
  );
});
