// The pure parts of a cluster's etcd: its command line, its log, why it ended, when it is restarted, its certificates.
import { X509Certificate } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { onlyIssuer, makeEtcdCertificates } from '../../../../server/membership/etcd/certificates.ts';
import { etcdFlags, type EtcdStart } from '../../../../server/membership/etcd/etcd-flags.ts';
import { endReason, EtcdLog, readEtcdLine } from '../../../../server/membership/etcd/etcd-log.ts';
import { restartPauseMs } from '../../../../server/membership/etcd/etcd-process.ts';
import type { Log } from '../../../../server/lib/log.ts';
import { makePair } from '../../../support/daemons/tls.ts';

const start: EtcdStart = {
  dir: '/d',
  name: 'm1',
  clientAddress: '10.0.0.1:2379',
  peerAddress: '10.0.0.1:2380',
  first: { kind: 'new', token: 'uuid' },
  tls: { ca: '/ca', cert: '/cert', key: '/key' },
};

describe('the command line', () => {
  test('the command line of a new cluster names only this member, and its token', () => {
    const flags = etcdFlags(start, '3.4.23');
    expect(flags).toEqual(
      expect.arrayContaining([
        '--initial-cluster=m1=https://10.0.0.1:2380',
        '--initial-cluster-state=new',
        '--initial-cluster-token=uuid',
        '--client-cert-auth=true',
        '--peer-client-cert-auth=true',
        '--quota-backend-bytes=8589934592',
      ]),
    );
  });

  test('the command line of one that joins names all members', () => {
    const peers = [
      { name: 'm0', peerAddress: '[fd00::1]:2380' },
      { name: 'm1', peerAddress: '10.0.0.1:2380' },
    ];
    const flags = etcdFlags({ ...start, first: { kind: 'join', peers } }, '3.4.23');
    expect(flags).toContain('--initial-cluster=m0=https://[fd00::1]:2380,m1=https://10.0.0.1:2380');
    expect(flags).toContain('--initial-cluster-state=existing');
    expect(flags.some((flag) => flag.includes('token'))).toBe(false);
  });

  test.each([
    ['3.4.23', '--experimental-peer-skip-client-san-verification=true'],
    ['3.5.21', '--experimental-peer-skip-client-san-verification=true'],
    ['3.6.0', '--peer-skip-client-san-verification=true'],
  ])('of etcd %s has %s', (version, flag) => {
    expect(etcdFlags(start, version)).toContain(flag);
  });
});

describe('a line of the log', () => {
  test('has its level, its error and its details', () => {
    const line =
      '{"level":"warn","ts":"now","caller":"x.go:1","msg":"rejected connection","remote-addr":"10.0.0.9:1","error":"EOF"}';
    expect(readEtcdLine(line)).toEqual({
      level: 'warn',
      message: 'rejected connection: EOF (remote-addr 10.0.0.9:1)',
      kind: 'rejected connection',
    });
  });

  test.each(['panic: \u001b[31mx', '{"level":', '{"a":1}', 'null'])(
    'that is not one of etcd stays printable: %j',
    (line) => {
      const { level, message } = readEtcdLine(line);
      expect(level).toBe('debug');
      expect(message).not.toMatch(/\p{Cc}/u);
    },
  );

  test('a line of the log that repeats within a minute is for debugging only', () => {
    const lines: string[] = [];
    const write = (level: string) => (message: string) => void lines.push(`${level} ${message}`);
    const log: Log = { debug: write('debug'), info: write('info'), warn: write('warn'), error: write('error') };
    const etcdLog = new EtcdLog(log);
    const line = readEtcdLine('{"level":"warn","msg":"slow"}');
    for (const at of [0, 59_000, 61_000]) etcdLog.write(line, at);
    expect(lines).toEqual(['warn etcd: slow', 'debug etcd: slow', 'warn etcd: slow']);
  });
});

describe('the reason of an end', () => {
  const fatal = (error: string) => readEtcdLine(JSON.stringify({ level: 'fatal', msg: 'discovery failed', error }));

  test.each([
    ['write /d/data/member/wal/0.wal: no space left on device', /disk of its data is full/, false],
    ['listen tcp 127.0.0.1:2379: bind: address already in use', /another program listens/, false],
    ['listen tcp 10.9.9.9:2379: bind: cannot assign requested address', /does not have its address/, false],
    ['wal: crc mismatch', /data is damaged/, true],
    ['error validating peerURLs: member count is unequal', /does not expect it/, true],
    ['open /d/data: permission denied', /may not read or write/, false],
  ])('%s', (error, text, isFinal) => {
    expect(endReason(1, null, [readEtcdLine('{"level":"info","msg":"x"}'), fatal(error)])).toEqual({
      text: expect.stringMatching(text),
      isFinal,
    });
  });

  test('is a removal, of which etcd only warns', () => {
    const warned = readEtcdLine(
      '{"level":"warn","msg":"server error","error":"the member has been permanently removed from the cluster"}',
    );
    expect(endReason(0, null, [warned, fatal('tls: x')])).toEqual({
      text: expect.stringContaining('it was removed from the cluster'),
      isFinal: true,
    });
  });

  test('is the signal, or the last line, when nothing is known', () => {
    expect(endReason(null, 'SIGKILL', [fatal('x')]).text).toBe('it was killed by SIGKILL');
    expect(endReason(2, null, [readEtcdLine('flag provided but not defined: -x')]).text).toBe(
      'it ended with code 2: flag provided but not defined: -x',
    );
  });
});

test('the pause before a restart doubles up to half a minute', () => {
  expect([1, 2, 3, 7, 50].map((failures) => restartPauseMs(failures, 500))).toEqual([
    500, 1_000, 2_000, 30_000, 30_000,
  ]);
});

describe('certificates', () => {
  const clusterKey = async () => (await makePair('c', { usage: 'server' })).keyPem;
  const now = new Date('2026-01-01T00:00:00Z');

  test('certificates that two members make of one cluster key fit each other; another key does not fit', async () => {
    const keyPem = await clusterKey();
    const [a, b] = [
      await makeEtcdCertificates(onlyIssuer(keyPem), { name: 'a', hosts: ['10.0.0.1'] }, now),
      await makeEtcdCertificates(onlyIssuer(keyPem), { name: 'b', hosts: ['b.example'] }, now),
    ];
    const stranger = await makeEtcdCertificates(
      onlyIssuer(await clusterKey()),
      { name: 'b', hosts: ['b.example'] },
      now,
    );
    const authority = new X509Certificate(a.caPem);
    expect(authority.ca).toBe(true);
    for (const { certPem } of [a, b]) {
      const certificate = new X509Certificate(certPem);
      expect(certificate.ca).toBe(false);
      expect(certificate.checkIssued(authority)).toBe(true);
      expect(certificate.verify(authority.publicKey)).toBe(true);
    }
    expect(new X509Certificate(stranger.certPem).verify(authority.publicKey)).toBe(false);
    expect(new X509Certificate(a.certPem).checkIP('10.0.0.1')).toBe('10.0.0.1');
    expect(new X509Certificate(b.certPem).checkHost('b.example')).toBe('b.example');
    expect(new X509Certificate(a.certPem).checkIP('10.0.0.2')).toBeUndefined();
  });
});
