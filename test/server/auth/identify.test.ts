// The caller class of a connection.
import { X509Certificate } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { fingerprintOf, identifyCaller } from '../../../server/auth/identify.ts';
import { makePair } from '../../support/daemons/tls.ts';

const day = 24 * 60 * 60_000;
const now = new Date('2030-06-01T00:00:00Z');

async function certificate(fromDays = -1, toDays = 1): Promise<Uint8Array> {
  const { certPem } = await makePair('someone', {
    notBefore: new Date(now.getTime() + fromDays * day),
    notAfter: new Date(now.getTime() + toDays * day),
  });
  return new X509Certificate(certPem).raw;
}

const trusting = (...trusted: readonly Uint8Array[]) => {
  const known = new Set(trusted.map(fingerprintOf));
  return { isTrusted: (fingerprint: string) => known.has(fingerprint) };
};
const tls = (peerCertificate?: Uint8Array) => ({
  transport: 'tls' as const,
  ...(peerCertificate === undefined ? {} : { peerCertificate }),
});

describe('the caller of a connection', () => {
  test('is trusted on the unix socket', () => {
    expect(identifyCaller({ transport: 'unix' }, trusting(), now)).toEqual({ class: 'trusted' });
  });

  test('is judged by the time of each request, though the certificate is parsed once', async () => {
    const short = await certificate(-1, 1);
    const at = (days: number) => identifyCaller(tls(short), trusting(short), new Date(now.getTime() + days * day));
    const classes = [0, 2, -2, 0].map((days) => at(days).class);
    expect(classes).toEqual(['trusted', 'untrusted', 'untrusted', 'trusted']);
    expect(identifyCaller(tls(short), trusting(), now).class).toBe('untrusted');
  });

  test('costs no second look at the bytes of the same certificate', async () => {
    const der = await certificate();
    identifyCaller(tls(der), trusting(der), now);
    const known = fingerprintOf(der);
    // Certificates are immutable; changing the bytes here shows whether they are read again.
    der.fill(0);
    expect(identifyCaller(tls(der), { isTrusted: (fingerprint) => fingerprint === known }, now).class).toBe('trusted');
  });

  test('is a guest over TLS without a certificate', () => {
    expect(identifyCaller(tls(), trusting(), now)).toEqual({ class: 'guest' });
    expect(identifyCaller(tls(new Uint8Array()), trusting(), now)).toEqual({ class: 'guest' });
  });

  test('is untrusted with a certificate outside the trust store', async () => {
    const [mine, other] = [await certificate(), await certificate()];
    expect(identifyCaller(tls(mine), trusting(other), now)).toEqual({
      class: 'untrusted',
      fingerprint: fingerprintOf(mine),
    });
  });

  test('is trusted with a certificate of the trust store, within its dates only', async () => {
    const good = await certificate();
    expect(identifyCaller(tls(good), trusting(good), now)).toEqual({
      class: 'trusted',
      fingerprint: fingerprintOf(good),
    });
    const old = await certificate(-9, -1);
    expect(identifyCaller(tls(old), trusting(old), now)).toMatchObject({ class: 'untrusted' });
    const early = await certificate(1, 9);
    expect(identifyCaller(tls(early), trusting(early), now)).toMatchObject({ class: 'untrusted' });
  });

  test('is an internal one with the certificate of the daemon itself', async () => {
    const own = await certificate();
    const expired = await certificate(-9, -1);
    const known = new Set([own, expired].map(fingerprintOf));
    const trust = { ...trusting(), isOfMember: (fingerprint: string) => known.has(fingerprint) };
    expect(identifyCaller(tls(own), trust, now)).toMatchObject({ class: 'trusted', internal: true });
    expect(identifyCaller(tls(expired), trust, now).class).toBe('untrusted');
  });

  test('is untrusted with bytes that are not a certificate, even trusted ones', () => {
    const bytes = Uint8Array.of(1, 2, 3);
    expect(identifyCaller(tls(bytes), trusting(bytes), now)).toMatchObject({ class: 'untrusted' });
  });

  test('one more byte after a trusted certificate is another certificate', async () => {
    const good = await certificate();
    expect(identifyCaller(tls(Buffer.concat([good, Uint8Array.of(0)])), trusting(good), now).class).toBe('untrusted');
  });
});
