// Notices by mail, with texts of templates and rules of sets, against a small SMTP server on loopback.
import { once } from 'node:events';
import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { createSecureContext, TLSSocket } from 'node:tls';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { Delivery, Notice, Notifier } from '../../../../reconciler/controller/notify/notice.ts';
import { shownOf } from '../../../../reconciler/controller/notify/messages.ts';
import { createNotifier } from '../../../../reconciler/controller/notify/notifier.ts';
import type { NotificationEntry } from '../../../../reconciler/controller/notify/notify-schema.ts';
import { tempFolder } from '../../../support/temp-folder.ts';
import { until } from '../../../support/until.ts';

const folder = tempFolder('gantry-mail-');
let server: Server;
let port = 0;
/** The received text of each connection. */
let said: string[] = [];
/** Replacement answers by SMTP command. Each connection takes the next one, if any. */
let refusals: Record<string, string> = {};
let later: Record<string, string>[] = [];
let tls: { readonly cert: string; readonly key: string } | undefined;
let deliveries: Delivery[] = [];
let notifier: Notifier;

function serve(socket: Socket, at: number, isSecure: boolean): void {
  let isData = false;
  let rest = '';
  if (!isSecure) socket.write('220 mail.example.org ready\r\n');
  socket.on('error', () => {});
  socket.on('data', (chunk: Buffer) => {
    rest += chunk.toString();
    said[at] += chunk.toString();
    for (;;) {
      const mark = isData ? '\r\n.\r\n' : '\r\n';
      const end = rest.indexOf(mark);
      if (end < 0) return;
      const word = isData ? 'message' : (rest.slice(0, end).split(/[ :]/)[0] ?? '');
      rest = rest.slice(end + mark.length);
      const usual: Record<string, string> = {
        EHLO: `250-mail.example.org\r\n${tls !== undefined && !isSecure ? '250-STARTTLS\r\n' : ''}250 AUTH PLAIN`,
        STARTTLS: tls === undefined ? '502 not here' : '220 go ahead',
        AUTH: '235 welcome',
        DATA: '354 go on',
        QUIT: '221 bye',
      };
      isData = word === 'DATA' && refusals['DATA'] === undefined;
      socket.write(`${refusals[word] ?? usual[word] ?? '250 ok'}\r\n`);
      if (word !== 'STARTTLS' || tls === undefined) continue;
      socket.removeAllListeners('data');
      serve(new TLSSocket(socket, { isServer: true, secureContext: createSecureContext(tls) }), at, true);
      return;
    }
  });
}

beforeEach(async () => {
  [said, refusals, later, deliveries, tls] = [[], {}, [], [], undefined];
  server = createServer((socket) => {
    refusals = later.shift() ?? refusals;
    serve(socket, said.push('') - 1, false);
  });
  server.listen(0, '::');
  await once(server, 'listening');
  ({ port } = server.address() as AddressInfo);
});
afterEach(async () => {
  await notifier.close(0);
  server.close();
});

const notice: Notice = {
  kind: 'failed',
  at: '2026-01-01T00:00:00Z',
  controller: 'main',
  set: 'web',
  hosts: ['h1'],
  revision: 'c0ffee',
  message: 'container web: no space left; ü',
  objects: [{ host: 'h1', address: 'container/web' }],
};

function open(entry: Omit<NotificationEntry, 'name'>, nowMs: () => number = Date.now): Notifier {
  notifier = createNotifier({
    entries: [{ name: 'ops', ...entry }],
    absolute: (path) => join(folder, path),
    nowMs,
    random: () => 0.5,
    firstPauseMs: 1,
    onDelivery: (delivery) => deliveries.push(delivery),
  });
  return notifier;
}
const email = (more: object = {}, host = '127.0.0.1') => ({
  email: {
    smtp: `smtp://${host}:${port}`,
    from: 'gantry@example.org',
    to: ['ops@example.org', 'ann@example.org'],
    ...more,
  },
});
/** The text of the first message, which is quoted-printable unless it is ASCII. */
const bodyOf = (text: string): string => {
  const body = text.split('\r\n\r\n')[1]?.split('\r\n.\r\n')[0] ?? '';
  const bytes = body
    .replaceAll('=\r\n', '')
    .replaceAll(/=([0-9A-F]{2})/g, (_, code: string) => String.fromCharCode(parseInt(code, 16)));
  return Buffer.from(bytes, 'latin1').toString().replaceAll('\r\n', '\n');
};

describe('a notice by mail', () => {
  test('reaches each address, with subject and text safe from injection', async () => {
    open(email()).notify({ ...notice, set: 'web\r\nBcc: mallory@example.org\r\n.\r\nQUIT' });
    await until(() => deliveries.length > 0);
    expect(deliveries[0]).toMatchObject({ outcome: 'sent', attempts: 1 });
    const [text = ''] = said;
    expect(text).toMatch(
      /MAIL FROM:<gantry@example.org>\r\nRCPT TO:<ops@example.org>\r\nRCPT TO:<ann@example.org>\r\nDATA/,
    );
    const head = text.slice(text.indexOf('From:'), text.indexOf('\r\n\r\n'));
    const names = head
      .replaceAll(/\r\n[ \t]/g, ' ')
      .split('\r\n')
      .map((line) => line.split(':')[0]);
    expect(names).not.toContain('Bcc');
    expect(head.replaceAll(/\r\n[ \t]/g, ' ')).toContain(
      '\r\nSubject: main: web Bcc: mallory@example.org . QUIT failed\r\n',
    );
    expect(bodyOf(text)).toContain('container web: no space left; ü\nHosts: h1\nRevision: c0ffee');
    expect(text.match(/^(MAIL|DATA)/gm)).toEqual(['MAIL', 'DATA']);
  });

  test('is retried after a temporary refusal, not after a permanent one, and nothing reveals the password', async () => {
    writeFileSync(join(folder, 'password'), 'hunter2\n');
    later = [{ RCPT: '451 greylisted' }, { AUTH: '535 wrong password hunter2' }];
    open(email({ username: 'gantry', passwordFile: 'password' })).notify(notice);
    await until(() => said.length >= 2);
    await until(() => deliveries.length > 0);
    expect(deliveries[0]).toMatchObject({ outcome: 'failed' });
    expect(deliveries[0]?.message).toContain('it answered 535 to AUTH PLAIN');
    expect(deliveries[0]?.message).not.toContain('hunter2');
    expect(said[0]).toContain(Buffer.from('\0gantry\0hunter2').toString('base64'));
  });

  test('needs STARTTLS with a trusted certificate for other machines', async () => {
    open(email({}, '[::ffff:127.0.0.1]')).notify(notice);
    await until(() => deliveries.length > 0);
    expect(deliveries[0]?.message).toContain('offers no STARTTLS');
    expect(said.join('')).not.toContain('MAIL FROM');
    await notifier.close(0);
    const [cert, key] = [join(folder, 'cert.pem'), join(folder, 'key.pem')];
    const names = 'subjectAltName=DNS:localhost';
    execFileSync(
      'openssl',
      [
        'req',
        '-x509',
        '-newkey',
        'ec',
        '-pkeyopt',
        'ec_paramgen_curve:P-256',
        '-nodes',
        '-days',
        '2',
        '-subj',
        '/CN=mail',
        '-addext',
        names,
        '-keyout',
        key,
        '-out',
        cert,
      ],
      { stdio: 'ignore' },
    );
    tls = { cert: readFileSync(cert, 'utf8'), key: readFileSync(key, 'utf8') };
    [deliveries, said] = [[], []];
    open(email({ caFile: 'cert.pem' }, 'localhost')).notify(notice);
    await until(() => deliveries.length > 0);
    expect(deliveries[0]).toMatchObject({ outcome: 'sent' });
    expect(said[0]).toContain('STARTTLS');
    await notifier.close(0);
    [deliveries, said] = [[], []];
    open(email({}, 'localhost')).notify(notice);
    await until(() => deliveries.length > 0);
    expect(deliveries[0]).toMatchObject({ outcome: 'failed' });
    expect(said.join('')).not.toContain('MAIL FROM');
  });
});

test('a template decides the text, and a rule decides sets and frequency', async () => {
  const template = {
    title: '$SET $STATE ($KIND)',
    text: 'Why: $MESSAGE\nWhere: ${HOSTS:-everywhere}, $OBJECTS\n$UNKNOWN',
  };
  expect(shownOf(notice, template)).toEqual({
    title: 'web failed (failed)',
    lines: ['Why: container web: no space left; ü', 'Where: h1, h1 container/web', '$UNKNOWN'],
  });
  let now = 0;
  const rule = open({ ...email(), sets: ['web*'], repeat: 'never', template }, () => now);
  rule.notify({ ...notice, set: 'db' }, []);
  rule.notify(notice, []);
  now = 86_400_000;
  rule.notify(notice, []);
  rule.notify({ ...notice, set: 'web2' }, []);
  rule.notify({ ...notice, message: 'something else' }, []);
  rule.notify(notice, []);
  await until(() => deliveries.length >= 4);
  expect(said.map((text) => bodyOf(text).split('\n')[0])).toEqual([
    'Why: container web: no space left; ü',
    'Why: container web: no space left; ü',
    'Why: something else',
    'Why: container web: no space left; ü',
  ]);
  expect(deliveries.map(({ set }) => set)).toEqual(['web', 'web2', 'web', 'web']);
});
