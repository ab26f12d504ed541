// The address of a client: the header of trusted proxies counts, others are ignored.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clientAddress } from '../../../../reconciler/controller/http/access/client-address.ts';
import { startHttp, tokens, type HttpHarness } from '../../../support/controller/http-harness.ts';

describe('the address of a client', () => {
  test.each([
    { peer: '192.0.2.1', forwarded: '198.51.100.7', trusted: [], is: '192.0.2.1' },
    { peer: '192.0.2.1', forwarded: '198.51.100.7', trusted: ['10.0.0.0/8'], is: '192.0.2.1' },
    { peer: '10.0.0.2', forwarded: '198.51.100.7', trusted: ['10.0.0.0/8'], is: '198.51.100.7' },
    { peer: '::ffff:10.0.0.2', forwarded: '198.51.100.7', trusted: ['10.0.0.2'], is: '198.51.100.7' },
    { peer: '10.0.0.2', forwarded: '203.0.113.9, 198.51.100.7, 10.0.0.3', trusted: ['10.0.0.0/8'], is: '198.51.100.7' },
    { peer: '10.0.0.2', forwarded: undefined, trusted: ['10.0.0.0/8'], is: '10.0.0.2' },
    { peer: '10.0.0.2', forwarded: 'nonsense', trusted: ['10.0.0.0/8'], is: '10.0.0.2' },
    { peer: '10.0.0.2', forwarded: '[2001:db8::7]:4711', trusted: ['10.0.0.0/8'], is: '2001:db8::7' },
    { peer: 'fd00::1', forwarded: '198.51.100.7:80', trusted: ['fd00::/8'], is: '198.51.100.7' },
  ])('of $peer with X-Forwarded-For $forwarded and the trusted $trusted is $is', ({ peer, forwarded, trusted, is }) => {
    expect(clientAddress(peer, forwarded, trusted)).toBe(is);
  });
});

describe('a caller behind a proxy', () => {
  const seen: string[] = [];
  const webhooks = ({ address }: { readonly address: string }) => {
    seen.push(address);
    return { status: 202, message: '' } as const;
  };
  let trusting: HttpHarness;
  let plain: HttpHarness;
  beforeAll(async () => {
    trusting = await startHttp({ webhooks, trustedProxies: ['127.0.0.0/8'] });
    plain = await startHttp({ webhooks });
  });
  afterAll(() => Promise.all([trusting.close(), plain.close()]));
  const headers = { 'x-forwarded-for': '198.51.100.7' };

  test('sends webhooks from its own address, where the proxy is trusted', async () => {
    await trusting.ask('/api/v1/webhooks/site', { method: 'POST', body: '{}', headers });
    await plain.ask('/api/v1/webhooks/site', { method: 'POST', body: '{}', headers });
    expect(seen).toEqual(['198.51.100.7', '127.0.0.1']);
  });

  test('is throttled for its own wrong tokens, not for those of others behind the same proxy', async () => {
    const guess = { token: 'wrong-token-0123456789', headers };
    for (let at = 0; at < 6; at += 1) await trusting.ask('/api/v1/overview', guess);
    expect((await trusting.ask('/api/v1/overview', guess)).status).toBe(429);
    const other = { token: tokens.view, headers: { 'x-forwarded-for': '198.51.100.8' } };
    expect((await trusting.ask('/api/v1/overview', other)).status).toBe(200);
  });
});
