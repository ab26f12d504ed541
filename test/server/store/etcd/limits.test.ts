// Limits and demands of an etcd: space, users and passwords, certificates; and servers that only look like one.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { Server, ServerCredentials, type UntypedHandleCall } from '@grpc/grpc-js';
import { describe, expect, onTestFinished, test } from 'vitest';
import { openEtcdStore } from '../../../../server/store/etcd/etcd.ts';
import { etcdDefinitions } from '../../../../server/store/etcd/member.ts';
import { type Authority, makeAuthority } from '../../../support/daemons/authority.ts';
import { etcdMissing, startEtcd } from '../../../support/store/etcd.ts';
import { del, put } from '../../../support/store/watching.ts';

const missing = etcdMissing();

describe.skipIf(missing !== undefined)('etcd', () => {
  test('etcd without space refuses puts, reads and deletes on, and recovers after the alarm is disarmed', async () => {
    const etcd = await startEtcd({ flags: ['--quota-backend-bytes', String(4 * 1024 * 1024)] });
    onTestFinished(() => etcd.stop());
    const store = await openEtcdStore({ endpoints: etcd.endpoints, name: 'full' });
    const value = new Uint8Array(200_000);
    const written: string[] = [];
    const fill = async (): Promise<never> => {
      for (let n = 0; ; n++) {
        await store.txn([], [{ put: `/fill/${n}`, value }]);
        written.push(`/fill/${n}`);
      }
    };
    await expect(fill()).rejects.toMatchObject({
      code: 'NoSpace',
      message: expect.stringContaining('etcdctl alarm disarm'),
    });
    expect((await store.range('/fill/')).records.map(({ key }) => key).sort()).toEqual(written.sort());
    await expect(store.txn([], [put('/a')])).rejects.toMatchObject({ code: 'NoSpace' });
    // A second one grants no lease either, which says nothing about the server.
    await expect(openEtcdStore({ endpoints: etcd.endpoints, name: 'full' })).rejects.toMatchObject({
      code: 'NoSpace',
      message: expect.stringMatching(/^etcd has used up its space quota/),
    });
    for (const key of written) expect(await store.txn([], [del(key)])).toMatchObject({ ok: true });
    await store.compact((await store.status()).rev);
    etcd.ctl('defrag');
    etcd.ctl('alarm', 'disarm');
    expect(await store.txn([], [put('/a')])).toMatchObject({ ok: true });
    await store.close();
  });

  test('etcd with users takes only the right password, and a token that etcd has forgotten is renewed', async () => {
    const etcd = await startEtcd();
    onTestFinished(() => etcd.stop());
    const { endpoints } = etcd;
    etcd.ctl('user', 'add', 'root:top');
    etcd.ctl('user', 'grant-role', 'root', 'root');
    etcd.ctl('role', 'add', 'east');
    etcd.ctl('role', 'grant-permission', 'east', 'readwrite', '/east/', '/east0');
    etcd.ctl('user', 'add', 'gantry:secret');
    etcd.ctl('user', 'grant-role', 'gantry', 'east');
    etcd.ctl('auth', 'enable');
    await expect(openEtcdStore({ endpoints, name: 'east' })).rejects.toThrow('demands a user and a password');
    const login = { user: 'gantry', password: 'secret' };
    await expect(openEtcdStore({ endpoints, name: 'east', login: { ...login, password: 'x' } })).rejects.toThrow(
      'refuses the user or the password',
    );
    await expect(openEtcdStore({ endpoints, name: 'west', login })).rejects.toThrow('does not let this user do that');
    const store = await openEtcdStore({ endpoints, name: 'east', login });
    const lease = await store.lease(60);
    await store.txn([], [put('/a', '1', lease.id)]);
    const watch = store.watch('/', 0, new AbortController().signal)[Symbol.asyncIterator]();
    expect(await watch.next()).toMatchObject({ value: { rev: 1 } });
    // Simple tokens are kept in memory.
    await etcd.kill(0);
    await etcd.start(0);
    await store.txn([], [put('/b', '1')]);
    expect(await watch.next()).toMatchObject({ value: { rev: 2 } });
    expect(await store.get('/a')).toMatchObject({ version: 1 });
    await store.close();
  });

  test('etcd with TLS takes certificates of its authority and no others', async () => {
    const [ca, stranger] = [makeAuthority('ca'), makeAuthority('stranger')];
    onTestFinished(() => [ca, stranger].forEach((one) => one.remove()));
    const server = ca.sign('server', { usage: 'serverAuth', names: 'IP:127.0.0.1' });
    const file = (name: string, content: string): string => {
      writeFileSync(join(ca.dir, name), content);
      return join(ca.dir, name);
    };
    const [cert, key] = [file('server.crt', server.certPem), file('server.key', server.keyPem)];
    const files = ['--cert-file', cert, '--key-file', key, '--trusted-ca-file', join(ca.dir, 'ca.crt')];
    const etcd = await startEtcd({ tls: true, flags: [...files, '--client-cert-auth'] });
    onTestFinished(() => etcd.stop());
    const tlsOf = (authority: Authority, by: Authority) => {
      const { certPem, keyPem } = by.sign('client');
      return { ca: Buffer.from(authority.certPem), cert: Buffer.from(certPem), key: Buffer.from(keyPem) };
    };
    const open = (tls: object, totalMs: number) =>
      openEtcdStore({ endpoints: etcd.endpoints, name: 'tls', tls, totalMs });
    const store = await open(tlsOf(ca, ca), 60_000);
    expect(await store.txn([], [put('/a')])).toMatchObject({ ok: true });
    await store.close();
    for (const tls of [tlsOf(stranger, ca), tlsOf(ca, stranger), { ca: Buffer.from(ca.certPem) }])
      await expect(open(tls, 1_000)).rejects.toMatchObject({ code: 'Unavailable' });
  });

  test('an etcd that allows too few operations in a transaction is refused with the flag to set', async () => {
    const etcd = await startEtcd({ flags: ['--max-txn-ops', '64'] });
    onTestFinished(() => etcd.stop());
    await expect(openEtcdStore({ endpoints: etcd.endpoints, name: 'small' })).rejects.toThrow('--max-txn-ops=128');
  });

  test('an etcd replaced by another one with less history is noticed, and not read', async () => {
    const first = await startEtcd();
    const second = await startEtcd();
    try {
      const endpoints = [...first.endpoints, ...second.endpoints];
      // No server listens at the first address: it is left at once then, and not before.
      const store = await openEtcdStore({ endpoints, name: 'same', attemptMs: 30_000 });
      await store.txn([], [put('/a')]);
      await first.kill(0);
      await expect(store.get('/a')).rejects.toThrow('it was restored or replaced');
      await expect(store.txn([], [put('/b')])).rejects.toThrow('it was restored or replaced');
      await store.close();
    } finally {
      await first.stop();
      await second.stop();
    }
  });
});

describe('a server that only looks like etcd', () => {
  const header = { clusterId: '1', revision: '7', raftTerm: '1' };
  const answering =
    (answer: object) =>
    (_call: unknown, done: (error: object | null, answer?: object) => void): void =>
      done(null, answer);
  const refusing =
    (code: number, details: string) =>
    (_call: unknown, done: (error: object) => void): void =>
      done({ code, details });

  const lookalike = async (
    version: string,
    txn: UntypedHandleCall,
  ): Promise<{ endpoint: string; stop: () => void }> => {
    const server = new Server();
    const service = (name: string) => etcdDefinitions[`etcdserverpb.${name}`] as Parameters<Server['addService']>[0];
    server.addService(service('Maintenance'), { Status: answering({ header, version }) as UntypedHandleCall });
    server.addService(service('KV'), { Txn: txn });
    const port = await new Promise<number>((resolve, reject) => {
      server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, bound) =>
        error === null ? resolve(bound) : reject(error),
      );
    });
    return { endpoint: `127.0.0.1:${port}`, stop: () => server.forceShutdown() };
  };

  test.each([
    [
      'refuses transactions over several keys, as kine does',
      '3.5.9',
      refusing(3, 'etcdserver: unsupported operations in txn request'),
      'it refuses a transaction over several keys',
    ],
    [
      'has no leases that can be kept alive',
      '3.5.9',
      answering({
        header,
        succeeded: false,
        responses: [{ responseRange: { header } }, { responseRange: { header } }],
      }),
      'it does not keep leases alive',
    ],
    ['is too old', '3.3.27', answering({}), 'etcd 3.3.27'],
    ['tells no version', '', answering({}), 'is too old'],
  ])('is refused when it %s', async (_what, version, txn, why) => {
    const { endpoint, stop } = await lookalike(version, txn as UntypedHandleCall);
    try {
      const opening = openEtcdStore({ endpoints: [endpoint], name: 'x' });
      await expect(opening).rejects.toMatchObject({ code: 'Invalid', message: expect.stringContaining(why) });
    } finally {
      stop();
    }
  });
});
