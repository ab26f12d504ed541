// The daemon's own certificate: fit for TLS, made once, never half written.
import { execFileSync } from 'node:child_process';
import { X509Certificate, createPrivateKey } from 'node:crypto';
import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, createServer, type TLSSocket } from 'node:tls';
import type { AddressInfo } from 'node:net';
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { ensureServerCertificate, thisHost } from '../../../server/auth/server-certificate.ts';
import { tempFolder } from '../../support/temp-folder.ts';

let dir = '';
beforeEach(() => void (dir = tempFolder('gantry-cert-')));

const now = new Date('2030-03-01T12:00:00Z');
const host = () => ({ hostname: 'box', user: 'root', addresses: ['10.0.0.7', '2001:db8::7', '10.0.0.7'], now });

describe('the server certificate', () => {
  test('is self-signed ECDSA P-384 for ten years, with the names and addresses of the host', async () => {
    const made = await ensureServerCertificate(dir, host);
    const certificate = new X509Certificate(made.certPem);
    expect(certificate.verify(certificate.publicKey)).toBe(true);
    expect(certificate.publicKey.asymmetricKeyDetails?.namedCurve).toBe('secp384r1');
    expect(certificate.checkPrivateKey(createPrivateKey(made.keyPem))).toBe(true);
    expect(certificate.subject).toBe('O=Gantry\nCN=root@box');
    // Clocks of other members may be late.
    expect(new Date(certificate.validFrom)).toEqual(new Date('2030-02-28T12:00:00Z'));
    expect(new Date(certificate.validTo)).toEqual(new Date('2040-03-01T12:00:00Z'));
    expect(made.fingerprint).toBe(certificate.fingerprint256.replaceAll(':', '').toLowerCase());
    for (const address of ['127.0.0.1', '::1', '10.0.0.7', '2001:db8::7']) {
      expect(certificate.checkIP(address), address).toBe(address);
    }
    expect(certificate.checkHost('box')).toBe('box');
    expect(certificate.checkHost('other')).toBeUndefined();
    expect(certificate.ca).toBe(false);
    expect(made.keyPem).toContain('BEGIN EC PRIVATE KEY');
  });

  test('can be read by other tools', async () => {
    await ensureServerCertificate(dir, host);
    let text: string;
    try {
      text = execFileSync('openssl', ['x509', '-in', join(dir, 'server.crt'), '-noout', '-text'], { encoding: 'utf8' });
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      console.log('skipped: openssl is not installed');
      return;
    }
    expect(text).toContain('Signature Algorithm: ecdsa-with-SHA384');
    expect(text).toMatch(/Key Usage: critical\s+Digital Signature, Key Encipherment/);
    expect(text).toMatch(/Extended Key Usage:\s+TLS Web Server Authentication/);
    expect(text).toMatch(/Basic Constraints: critical\s+CA:FALSE/);
    expect(text).toMatch(/DNS:box, IP Address:127\.0\.0\.1, IP Address:0:0:0:0:0:0:0:1, IP Address:10\.0\.0\.7/);
  });

  test('carries a TLS connection to a client that pins it', async () => {
    const { certPem, keyPem } = await ensureServerCertificate(dir, thisHost);
    const server = createServer({ cert: certPem, key: keyPem, minVersion: 'TLSv1.2' }, (socket) => socket.end('hello'));
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const text = await new Promise<string>((resolve, reject) => {
      const socket: TLSSocket = connect({ port, host: '127.0.0.1', ca: certPem });
      socket.on('data', (data: Buffer) => resolve(data.toString()));
      socket.on('error', reject);
    });
    expect(text).toBe('hello');
  });

  test('is kept by later starts, its key for the owner only, without other files in the directory', async () => {
    const first = await ensureServerCertificate(dir, host);
    const second = await ensureServerCertificate(dir, () => ({ ...host(), hostname: 'renamed' }));
    expect(second).toEqual(first);
    expect(statSync(join(dir, 'server.key')).mode & 0o777).toBe(0o600);
    expect(readdirSync(dir).toSorted()).toEqual(['server.crt', 'server.key']);
  });

  test('has the same file modes whatever the umask', async () => {
    const before = process.umask(0o777);
    try {
      await ensureServerCertificate(dir, host);
    } finally {
      process.umask(before);
    }
    expect(statSync(join(dir, 'server.key')).mode & 0o777).toBe(0o600);
    expect(statSync(join(dir, 'server.crt')).mode & 0o777).toBe(0o644);
  });

  test('is made again when a crash left only the key, or drafts', async () => {
    writeFileSync(join(dir, 'server.key'), 'half of a k');
    writeFileSync(join(dir, 'server.key.new'), 'x');
    writeFileSync(join(dir, 'server.crt.new'), 'x');
    const made = await ensureServerCertificate(dir, host);
    expect(readFileSync(join(dir, 'server.key'), 'utf8')).toBe(made.keyPem);
    expect(readdirSync(dir).toSorted()).toEqual(['server.crt', 'server.key']);
  });

  test('is never replaced while clients may know it: a lost or different key is an error', async () => {
    await ensureServerCertificate(dir, host);
    const certificate = readFileSync(join(dir, 'server.crt'), 'utf8');
    rmSync(join(dir, 'server.key'));
    await expect(ensureServerCertificate(dir, host)).rejects.toThrow('restore the key');
    const other = tempFolder('gantry-cert-');
    try {
      const foreign = await ensureServerCertificate(other, host);
      writeFileSync(join(dir, 'server.key'), foreign.keyPem);
    } finally {
      rmSync(other, { recursive: true, force: true });
    }
    await expect(ensureServerCertificate(dir, host)).rejects.toThrow('with the key');
    expect(readFileSync(join(dir, 'server.crt'), 'utf8')).toBe(certificate);
  });

  test('has dates from 2050 on in the form of the standard', async () => {
    const made = await ensureServerCertificate(dir, () => ({ ...host(), now: new Date('2045-01-01T00:00:00Z') }));
    expect(new Date(new X509Certificate(made.certPem).validTo)).toEqual(new Date('2055-01-01T00:00:00Z'));
  });

  test('is made for host names of any length', async () => {
    const made = await ensureServerCertificate(dir, () => ({
      ...host(),
      hostname: `${'a'.repeat(63)}.${'b'.repeat(63)}`,
    }));
    expect(new X509Certificate(made.certPem).subject.length).toBeLessThan(90);
  });
});
