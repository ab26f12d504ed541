// Notifications against fake receivers on loopback: bodies, signatures, retries, limits, and hidden secrets.
import { createServer, type IncomingHttpHeaders } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Delivery, Notice, Notifier } from '../../../../reconciler/controller/notify/notice.ts';
import type { NotificationEntry } from '../../../../reconciler/controller/notify/notify-schema.ts';
import { createNotifier } from '../../../../reconciler/controller/notify/notifier.ts';
import { shownOf, slackBody, textOf } from '../../../../reconciler/controller/notify/messages.ts';
import { verifyWebhook } from '../../../../reconciler/controller/sources/webhooks/verify-webhook.ts';
import { until } from '../../../support/until.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

interface Received {
  readonly method: string;
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

let folder = '';
let base = '';
let received: Received[] = [];
let deliveries: Delivery[] = [];
/** Status, headers and body of the next answers; then 200. */
let answers: (readonly [number, Readonly<Record<string, string>>?, string?])[] = [];
let notifiers: Notifier[] = [];
let stop = (): void => undefined;

beforeEach(async () => {
  folder = tempFolder('gantry-notify-');
  writeFileSync(join(folder, 'secret'), 'the-shared-secret\n');
  [received, deliveries, answers, notifiers] = [[], [], [], []];
  const server = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      const body = await text(request);
      received.push({ method: request.method ?? '', url: request.url ?? '', headers: request.headers, body });
      const [status, headers, said] = answers.shift() ?? [200];
      response.writeHead(status, headers).end(said);
    };
    void answer();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  stop = () => {
    server.closeAllConnections();
    server.close();
  };
});
afterEach(async () => {
  for (const notifier of notifiers) await notifier.close(0);
  stop();
});

function open(
  entry: Omit<NotificationEntry, 'name'>,
  more: { perMinute?: number; nowMs?: () => number; onDelivery?: (delivery: Delivery) => void } = {},
): Notifier {
  const notifier = createNotifier({
    entries: [{ name: 'ops', ...entry }],
    absolute: (path) => join(folder, path),
    nowMs: Date.now,
    random: () => 0.5,
    firstPauseMs: 1,
    onDelivery: (delivery) => deliveries.push(delivery),
    ...more,
  });
  notifiers.push(notifier);
  return notifier;
}

const commit = 'c0ffee'.padEnd(40, '0');
const notice: Notice = {
  kind: 'failed',
  at: '2026-01-01T00:00:00Z',
  controller: 'main',
  set: 'web',
  hosts: ['h1'],
  revision: commit,
  message: 'container web: no space left',
  changes: { create: 1, update: 2, delete: 0 },
  objects: [{ host: 'h1', address: 'container/web', paths: ['config.limits.memory'] }],
  link: 'https://gantry.example.org/sets/web',
};
const delivered = async (count = 1): Promise<void> => until(() => deliveries.length >= count);

describe('a notification', () => {
  test('to a webhook is signed, and a receiving controller accepts the signature', async () => {
    open({ webhook: { url: `${base}/hook`, secretFile: 'secret' } }).notify(notice);
    await delivered();
    expect(deliveries).toEqual([{ notification: 'ops', kind: 'failed', set: 'web', outcome: 'sent', attempts: 1 }]);
    const [{ headers, body } = { headers: {}, body: '' }] = received;
    expect(JSON.parse(body)).toMatchObject({
      type: 'failed',
      set: 'web',
      revision: commit,
      objects: [{ address: 'container/web' }],
    });
    const request = {
      provider: 'hmac',
      secret: 'the-shared-secret',
      headers,
      body: Buffer.from(body),
      nowMs: Date.now(),
    } as const;
    expect(verifyWebhook(request)).toMatchObject({ isValid: true });
  });

  test('is sent again with `repeat: never` when nobody received it', async () => {
    answers = [[400]];
    const notifier = open({ webhook: { url: `${base}/hook`, secretFile: 'secret' }, repeat: 'never' });
    notifier.notify(notice);
    await delivered();
    notifier.notify(notice);
    await delivered(2);
    notifier.notify(notice);
    await notifier.close(1000);
    expect(deliveries.map(({ outcome }) => outcome)).toEqual(['failed', 'sent']);
  });

  test('to a Slack-compatible hook has escaped text', async () => {
    writeFileSync(join(folder, 'url'), `${base}/services/T0/B0/hook-password`);
    open({ slack: { urlFile: 'url', channel: '#ops' } }).notify({
      ...notice,
      message: '<!channel> & <https://evil|click>',
    });
    await delivered();
    const body = JSON.parse(received[0]?.body ?? '') as {
      channel: string;
      text: string;
      attachments: { text: string }[];
    };
    expect(body).toMatchObject({ channel: '#ops', text: 'main: web failed' });
    expect(body.attachments[0]?.text).toContain('&lt;!channel&gt; &amp; &lt;https://evil|click&gt;');
  });

  test('to a Matrix room keeps its transaction id across retries', async () => {
    answers = [[502], [200, {}, '{"event_id":"$1"}']];
    open({ matrix: { homeserver: `${base}/`, room: '!a/b:example.org', tokenFile: 'secret' } }).notify({
      ...notice,
      message: '<b>"x"</b>',
    });
    await delivered();
    expect(received.map(({ method, url }) => [method, url.replace(/[0-9a-f]{32}$/, 'ID')])).toEqual(
      ['PUT', 'PUT'].map((method) => [method, '/_matrix/client/v3/rooms/!a%2Fb%3Aexample.org/send/m.room.message/ID']),
    );
    expect(received[0]?.url).toBe(received[1]?.url);
    expect(received[0]?.headers.authorization).toBe('Bearer the-shared-secret');
    expect((JSON.parse(received[0]?.body ?? '') as { formatted_body: string }).formatted_body).toContain(
      '&lt;b&gt;&quot;x&quot;&lt;/b&gt;',
    );
  });

  test.each([
    [
      'github',
      `/repos/team/site/statuses/${commit}`,
      { authorization: 'Bearer the-shared-secret', 'x-github-api-version': '2022-11-28' },
      { state: 'failure', context: 'gantry/main/web' },
    ],
    [
      'gitlab',
      `/projects/team%2Fsite/statuses/${commit}`,
      { 'private-token': 'the-shared-secret' },
      { state: 'failed', name: 'gantry/main/web' },
    ],
    [
      'gitea',
      `/repos/team/site/statuses/${commit}`,
      { authorization: 'token the-shared-secret' },
      { state: 'failure', context: 'gantry/main/web' },
    ],
  ] as const)('as a commit status of %s calls its API', async (provider, path, headers, body) => {
    const notifier = open({
      commitStatus: { provider, repository: 'team/site', tokenFile: 'secret', api: `${base}/api/` },
    });
    notifier.notify({ ...notice, message: 'm'.repeat(900) });
    await delivered();
    expect(received[0]).toMatchObject({ method: 'POST', url: `/api${path}`, headers });
    const sent = JSON.parse(received[0]?.body ?? '') as { description: string };
    expect(sent).toMatchObject({ ...body, target_url: notice.link });
    expect(sent.description.length).toBeLessThanOrEqual(provider === 'gitlab' ? 255 : 140);
    notifier.notify({ ...notice, kind: 'synced' });
    await delivered(2);
    expect(JSON.parse(received[1]?.body ?? '')).toMatchObject({ state: 'success' });
    notifier.notify({ ...notice, revision: 'sha256:abc' });
    await notifier.close(5000);
    expect(received).toHaveLength(2);
  });
});

describe('delivery', () => {
  test('is retried after failures and refused connections, respecting Retry-After', async () => {
    answers = [[500], [429, { 'retry-after': '1' }], [200]];
    const begun = Date.now();
    open({ webhook: { url: base } }).notify(notice);
    await delivered();
    expect(deliveries[0]).toMatchObject({ outcome: 'sent', attempts: 3 });
    expect(Date.now() - begun).toBeGreaterThanOrEqual(1000);
  });

  test('ends after five attempts, at once when the answer is final, and never follows a redirect', async () => {
    answers = Array.from({ length: 5 }, () => [503] as const);
    const notifier = open({ webhook: { url: base, secretFile: 'secret' } });
    notifier.notify(notice);
    await delivered();
    expect(deliveries[0]).toMatchObject({ outcome: 'failed', attempts: 5 });
    answers = [[401, {}, 'bad secret the-shared-secret']];
    notifier.notify({ ...notice, message: 'other' });
    await delivered(2);
    expect(deliveries[1]).toMatchObject({
      outcome: 'failed',
      attempts: 1,
      message: expect.stringMatching(/answered 401: bad secret \*\*\*$/) as string,
    });
    answers = [[302, { location: `${base}/elsewhere` }]];
    notifier.notify({ ...notice, message: 'third' });
    await delivered(3);
    expect(received.some(({ url }) => url === '/elsewhere')).toBe(false);
  });

  test('delivery of an equal notice happens once, and of unwanted kinds never', async () => {
    const notifier = open({ webhook: { url: base }, on: ['failed', 'synced'] });
    notifier.notify(notice);
    notifier.notify({ ...notice, at: '2026-01-01T00:01:00Z' });
    notifier.notify({ ...notice, kind: 'drifted' });
    notifier.notify({ ...notice, kind: 'synced' });
    notifier.notify(notice, ['another']);
    notifier.notify(notice, ['ops']);
    await notifier.close(5000);
    expect(deliveries.map(({ kind }) => kind)).toEqual(['failed', 'synced', 'failed']);
  });

  test('delivery of an equal notice happens again after ten minutes', async () => {
    let clock = 0;
    const notifier = open({ webhook: { url: base } }, { nowMs: () => clock });
    for (const minutes of [0, 9, 10, 11, 20]) {
      clock = minutes * 60_000;
      notifier.notify({ ...notice, kind: 'healed' });
    }
    await notifier.close(5000);
    expect(received).toHaveLength(3);
  });

  test('delivery of a notice that comes at the very end of another one begins at once', async () => {
    for (let steps = 0; steps < 8; steps += 1) {
      const begin = deliveries.length;
      const next = { ...notice, message: `after ${steps} steps` };
      const notifyAfter = async (left: number, late: Notice): Promise<void> => {
        for (let step = 0; step < left; step += 1) await Promise.resolve();
        notifier.notify(late);
      };
      const notifier = open(
        { webhook: { url: base } },
        {
          onDelivery: (delivery) => {
            deliveries.push(delivery);
            if (deliveries.length === begin + 1) void notifyAfter(steps, next);
          },
        },
      );
      notifier.notify(notice);
      await delivered(begin + 2);
    }
  });

  test('is limited per minute, and a full queue drops the oldest', async () => {
    let clock = 0;
    const notifier = open({ webhook: { url: base } }, { perMinute: 3, nowMs: () => clock });
    for (let at = 0; at < 110; at += 1) notifier.notify({ ...notice, message: `news ${at}` });
    await until(() => received.length === 3);
    expect(deliveries.filter(({ outcome }) => outcome === 'dropped').length).toBeGreaterThanOrEqual(6);
    clock += 1;
    await notifier.close(50);
    expect(received).toHaveLength(3);
    expect(deliveries.filter(({ outcome }) => outcome === 'dropped')).toHaveLength(107);
  });

  test('a clock that is set back holds no notice up', async () => {
    let clock = Date.parse('2026-01-01T12:00:00Z');
    const notifier = open({ webhook: { url: base } }, { perMinute: 2, nowMs: () => clock });
    notifier.notify(notice);
    notifier.notify({ ...notice, kind: 'healed' });
    await delivered(2);
    clock -= 3_600_000;
    notifier.notify({ ...notice, kind: 'healed' });
    await delivered(3);
    expect(deliveries.map(({ outcome }) => outcome)).toEqual(['sent', 'sent', 'sent']);
  });

  test('reports wrong settings without their secrets', async () => {
    writeFileSync(join(folder, 'url'), 'ftp://hook-password');
    open({ slack: { urlFile: 'url' } }).notify(notice);
    open({ webhook: {} }).notify(notice);
    open({ matrix: { homeserver: base, room: '!a', tokenFile: 'absent' } }).notify(notice);
    await delivered(3);
    const said = deliveries.map(({ message }) => message ?? '').sort();
    expect(said.join('\n')).not.toContain('hook-password');
    expect(said[0]).toContain('cannot read notification ops: matrix.tokenFile');
    expect(said[1]).toContain('needs either url or urlFile');
    expect(said[2]).toContain('its URL is no http or https URL');
  });
});

test('texts contain no control characters, no secrets and a limited number of objects', () => {
  const objects = Array.from({ length: 40 }, (_, at) => ({ host: 'h', address: `container/c${at}` }));
  const shown = textOf(
    shownOf({ ...notice, set: 'a\u001b[31m\nb\u202e', message: 'GET /x?password=hunter2 failed', objects }),
  );
  // eslint-disable-next-line no-control-regex
  expect(shown).not.toMatch(/[\u001b\u202e]|hunter2/);
  expect(shown).toContain('and 30 more');
  expect(shown.split('\n')[0]).toBe('main: a [31m b  failed');
  expect(slackBody(notice, undefined)).not.toContain('"channel"');
});
