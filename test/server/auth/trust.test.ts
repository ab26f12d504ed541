// Adding a certificate to the trust store: accepted input, and the order of the checks.
import { X509Certificate } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { AppError } from '../../../server/api/errors.ts';
import { Attempts } from '../../../server/lib/shared/attempts.ts';
import { hashPassword } from '../../../server/lib/secrets.ts';
import { checkTrustPassword, parseCertificate, planTrust, trustLimits } from '../../../server/auth/trust.ts';
import { makePair } from '../../support/daemons/tls.ts';

let pem = '';
let der: Buffer = Buffer.alloc(0);
let stored = '';

beforeAll(async () => {
  const made = await makePair('alice', { notBefore: new Date('2020-01-01'), notAfter: new Date('2060-01-01') });
  pem = made.certPem;
  der = new X509Certificate(pem).raw;
  stored = await hashPassword('right');
});

const plan = (body: Record<string, string>, more: { peer?: boolean; host?: string; known?: boolean } = {}) =>
  planTrust({
    body: { type: 'client', ...body },
    isKnown: () => more.known ?? false,
    ...(more.peer ? { peerCertificate: der } : {}),
    ...(more.host === undefined ? {} : { remoteHost: more.host }),
  });
const codeOf = (act: () => unknown): unknown => {
  try {
    act();
    return 'passed';
  } catch (error) {
    return error instanceof AppError ? `${error.code} ${error.details.map((detail) => detail.path).join()}` : error;
  }
};

describe('certificates sent', () => {
  test('are accepted as PEM, as base64 of DER, and as base64 in lines', () => {
    const fingerprint = new X509Certificate(pem).fingerprint256.replaceAll(':', '').toLowerCase();
    const lines = der.toString('base64').replaceAll(/(.{40})/g, '$1\n');
    for (const text of [pem, `  ${pem}\n`, pem.replaceAll('\n', '\r\n'), der.toString('base64'), lines]) {
      expect(parseCertificate(text)).toMatchObject({ fingerprint, commonName: 'alice' });
    }
    expect(new X509Certificate(parseCertificate(der.toString('base64'))?.pem ?? '').raw).toEqual(der);
  });
  test('are refused in any other form', () => {
    const trailing = Buffer.concat([der, Buffer.from([0])]).toString('base64');
    const key = '-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----';
    for (const text of ['', 'nonsense', key, pem + pem, trailing, 'A'.repeat(100_000), '-----BEGIN CERTIFICATE-----']) {
      expect(parseCertificate(text), text.slice(0, 40)).toBeUndefined();
    }
  });
});

describe('the trust store entry', () => {
  test('has the certificate of the body, else that of the connection', () => {
    const entry = plan({ certificate: der.toString('base64'), name: 'mine' });
    expect(entry).toMatchObject({ type: 'client', name: 'mine', certificate: pem });
    expect(plan({}, { peer: true }).fingerprint).toBe(entry.fingerprint);
  });
  test('has the name of the body, else the host of the request, else the name in the certificate', () => {
    expect(plan({ name: 'x' }, { peer: true, host: 'h' }).name).toBe('x');
    expect(plan({ name: '' }, { peer: true, host: 'h' }).name).toBe('h');
    expect(plan({}, { peer: true }).name).toBe('alice');
  });
  test('is refused with the wrong field', () => {
    expect(codeOf(() => plan({ type: 'server' }, { peer: true }))).toBe('badRequest type');
    expect(codeOf(() => plan({}))).toBe('badRequest certificate');
    expect(codeOf(() => plan({ certificate: 'x' }))).toBe('badRequest certificate');
    expect(codeOf(() => plan({}, { peer: true, known: true }))).toBe('alreadyTrusted ');
  });
});

describe('the trust password', () => {
  const sleeps: number[] = [];
  const wrong: string[] = [];
  const check = async (password: string | undefined, more: { stored?: string; attempts?: Attempts } = {}) => {
    const attempts = more.attempts ?? new Attempts(() => 0, trustLimits);
    const deps = {
      attempts,
      stored: 'stored' in more ? more.stored : stored,
      sleep: async (ms: number) => void sleeps.push(ms),
      onWrong: (address: string) => void wrong.push(address),
    };
    const caller = { class: 'untrusted' as const, address: '10.0.0.1' };
    return checkTrustPassword(caller, password, deps, new AbortController().signal).then(
      () => 'passed',
      (error: unknown) => (error instanceof AppError ? error.code : error),
    );
  };

  test('must be the right one', async () => {
    expect(await check('right')).toBe('passed');
    wrong.length = 0;
    expect(await check('wrong')).toBe('forbidden');
    expect(await check('')).toBe('forbidden');
    expect(await check(undefined)).toBe('forbidden');
    expect(wrong).toEqual(['10.0.0.1']);
  });
  test('refuses everyone while none is set', async () => {
    expect(await check('right', { stored: '' })).toBe('forbidden');
    expect(await check('', { stored: '' })).toBe('forbidden');
  });
  test('is not needed by trusted callers', async () => {
    const deps = {
      attempts: new Attempts(() => 0, trustLimits),
      stored: undefined,
      sleep: async () => undefined,
      onWrong: () => undefined,
    };
    const caller = { class: 'trusted' as const, address: '' };
    await expect(checkTrustPassword(caller, undefined, deps, new AbortController().signal)).resolves.toBeUndefined();
  });
  test('delays the check of the fourth wrong one, and the right one is not exempt', async () => {
    const attempts = new Attempts(() => 0, trustLimits);
    sleeps.length = 0;
    for (let count = 0; count < 4; count += 1) expect(await check('wrong', { attempts })).toBe('forbidden');
    expect(sleeps).toEqual([500]);
    expect(await check('right', { attempts })).toBe('passed');
    expect(sleeps).toEqual([500, 1500]);
    expect(attempts.size).toBe(0);
  });
  test('is not checked after too many attempts', async () => {
    const attempts = new Attempts(() => 0, trustLimits);
    for (let count = 0; count < 6; count += 1) await check('wrong', { attempts });
    expect(await check('right', { attempts })).toBe('forbidden');
  });
});
