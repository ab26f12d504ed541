// Webhooks of sources: verification, refusals, and the number of checks after a flood.
import { createHmac } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import {
  createWebhookReceiver,
  type WebhookReceiver,
} from '../../../../reconciler/controller/sources/webhooks/receive-webhooks.ts';
import {
  timedSignature,
  verifyWebhook,
  type Headers,
  type Verdict,
} from '../../../../reconciler/controller/sources/webhooks/verify-webhook.ts';
import type { WebhookSettings } from '../../../../reconciler/controller/sources/source-schema.ts';
import { until } from '../../../support/until.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const secret = 'a secret of the hook';
const body = Buffer.from('{"ref":"refs/heads/main","odd":"ä\\u0000"}');
const nowMs = Date.parse('2026-01-01T00:00:00Z');
const hex = (text: Buffer, key = secret): string => createHmac('sha256', key).update(text).digest('hex');
const stamp = String(nowMs / 1000);
const valid: Readonly<Record<WebhookSettings['provider'], Headers>> = {
  github: { 'x-hub-signature-256': `sha256=${hex(body)}`, 'x-github-event': 'push' },
  gitea: { 'x-gitea-signature': hex(body) },
  gitlab: { 'x-gitlab-token': secret },
  hmac: { 'x-gantry-timestamp': stamp, 'x-gantry-signature-256': timedSignature(secret, stamp, body) },
};
const providers = ['github', 'gitea', 'gitlab', 'hmac'] as const;
const verdict = (provider: WebhookSettings['provider'], headers: Headers, sent = body, at = nowMs): Verdict =>
  verifyWebhook({ provider, secret, headers, body: sent, nowMs: at });

describe('a webhook request', () => {
  test.each(providers)('a webhook request of %s with the right secret is valid', (provider) => {
    expect(verdict(provider, valid[provider])).toMatchObject({ isValid: true, isTest: false });
  });

  test('has the signature that GitHub documents', () => {
    // The example of the page "Validating webhook deliveries".
    const documented = {
      'x-hub-signature-256': 'sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17',
    };
    const sent = {
      provider: 'github',
      secret: "It's a Secret to Everybody",
      headers: documented,
      body: Buffer.from('Hello, World!'),
      nowMs,
    } as const;
    expect(verifyWebhook(sent)).toMatchObject({ isValid: true });
  });

  test.each(['github', 'gitea', 'hmac'] as const)(
    'a webhook request of %s with a changed body is refused',
    (provider) => {
      expect(verdict(provider, valid[provider], Buffer.concat([body, Buffer.from(' ')]))).toMatchObject({
        isValid: false,
      });
    },
  );

  test.each(providers)(
    'a webhook request of %s with a forged, empty, cut, repeated or absent signature is refused',
    (provider) => {
      for (const [name, value] of Object.entries(valid[provider])) {
        if (name === 'x-github-event') continue;
        const text = String(value);
        for (const forged of [
          undefined,
          '',
          text.slice(0, -1),
          `${text} `,
          `${text.slice(0, -1)}\u0000`,
          [text, text],
        ]) {
          expect(verdict(provider, { ...valid[provider], [name]: forged })).toMatchObject({ isValid: false });
        }
      }
      for (const other of providers) {
        if (other !== provider) expect(verdict(provider, valid[other])).toMatchObject({ isValid: false });
      }
    },
  );

  test('a webhook request with the older SHA-1 signature only is refused', () => {
    const sha1 = createHmac('sha1', secret).update(body).digest('hex');
    expect(verdict('github', { 'x-hub-signature': `sha1=${sha1}` })).toMatchObject({ isValid: false });
  });

  test('a webhook request with a time is valid for five minutes', () => {
    expect(verdict('hmac', valid.hmac, body, nowMs + 299_000)).toMatchObject({ isValid: true });
    expect(verdict('hmac', valid.hmac, body, nowMs + 301_000)).toMatchObject({ isValid: false });
    expect(verdict('hmac', valid.hmac, body, nowMs - 301_000)).toMatchObject({ isValid: false });
    const odd = { 'x-gantry-timestamp': 'NaN', 'x-gantry-signature-256': timedSignature(secret, 'NaN', body) };
    expect(verdict('hmac', odd)).toMatchObject({ isValid: false });
  });
});

describe('the receiver of webhooks', () => {
  let folder = '';
  let looks: string[] = [];
  let clock = nowMs;
  let receiver: WebhookReceiver;
  beforeEach(() => {
    folder = tempFolder('gantry-hook-');
    writeFileSync(join(folder, 'secret'), `${secret}\n`);
    looks = [];
    clock = nowMs;
    const webhooks = new Map<string, WebhookSettings>([
      ['site', { provider: 'github', secretFile: 'secret' }],
      ['lab', { provider: 'gitlab', secretFile: 'secret' }],
      ['lost', { provider: 'gitlab', secretFile: 'absent' }],
    ]);
    receiver = createWebhookReceiver({
      settingsOf: (source) => webhooks.get(source),
      absolute: (path) => join(folder, path),
      nowMs: () => clock,
      lookAt: (source) => looks.push(source),
    });
  });
  afterEach(() => receiver.close());
  const send = async (text: string, headers: Headers = {}, source = 'site', address = '192.0.2.1'): Promise<number> => {
    const sent = Buffer.from(text);
    const signed = { 'x-hub-signature-256': `sha256=${hex(sent)}`, ...headers };
    return (await receiver.receive({ source, headers: signed, body: sent, address })).status;
  };

  test('checks the source after a valid request, but only once if it is repeated', async () => {
    expect([await send('1'), await send('1'), await send('1', { 'x-github-delivery': 'another id' })]).toEqual([
      202, 202, 202,
    ]);
    expect(looks).toEqual(['site']);
  });

  test('checks the source at each event of GitLab, though a branch that goes back and forth repeats its body', async () => {
    const event = (id: string) => send('push', { ...valid.gitlab, 'x-gitlab-event-uuid': id }, 'lab');
    expect([await event('1'), await event('1')]).toEqual([202, 202]);
    expect(looks).toEqual(['lab']);
    await event('2');
    await until(() => looks.length === 2);
  });

  test('answers a ping without a check', async () => {
    expect(await send('ping', { 'x-github-event': 'ping' })).toBe(202);
    expect(looks).toEqual([]);
  });

  test('coalesces a flood of valid requests into a check at its beginning and its end', async () => {
    const beganMs = Date.now();
    for (let at = 0; at < 200; at += 1) expect(await send(`push ${at}`)).toBe(202);
    const during = looks.length;
    // One check per second, since the machine may be slow.
    expect(during).toBeLessThanOrEqual(1 + (Date.now() - beganMs) / 1000);
    await until(() => looks.length === during + 1);
    expect(await send('last')).toBe(202);
    await until(() => looks.length === during + 2);
  });

  test('throttles forgers after ten attempts, while correctly signed requests of their address pass', async () => {
    const forged = { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` };
    const statuses: number[] = [];
    for (let at = 0; at < 12; at += 1) statuses.push(await send('x', forged));
    expect(statuses).toEqual([...Array<number>(10).fill(401), 429, 429]);
    expect(await send('good')).toBe(202);
    expect(await send('good', {}, 'site', '192.0.2.2')).toBe(202);
    clock += 61_000;
    expect(await send('x', forged)).toBe(401);
  });

  test('counts forgers of one IPv6 network as one sender', async () => {
    const forged = { 'x-hub-signature-256': `sha256=${'0'.repeat(64)}` };
    for (let at = 0; at < 10; at += 1) await send('x', forged, 'site', `2001:db8::${at}`);
    expect(await send('x', forged, 'site', '2001:db8::ffff')).toBe(429);
    expect(await send('x', forged, 'site', '2001:db8:0:1::1')).toBe(401);
  });

  test('refuses unknown sources, and sources whose secret cannot be read', async () => {
    expect(await send('x', {}, 'absent')).toBe(404);
    expect(await send('x', {}, '__proto__')).toBe(404);
    expect(await send('x', {}, 'lost')).toBe(403);
    expect(looks).toEqual([]);
  });

  test('forgets the oldest of many senders and marks: its memory is bounded', async () => {
    const forged = { 'x-hub-signature-256': 'x' };
    for (let at = 0; at < 10_050; at += 1) await send('x', forged, 'site', `10.0.${at >> 8}.${at & 255}`);
    expect(await send('x', forged, 'site', '10.0.0.0')).toBe(401);
  });
});
