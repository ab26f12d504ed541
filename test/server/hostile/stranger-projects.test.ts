// Untrusted callers, with or without a certificate, send requests for projects: they do not learn which projects exist.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makeProject } from '../../support/daemons/projects.ts';
import { callTls, makeClient, type ClientCertificate } from '../../support/daemons/tls.ts';
import type { Answer } from '../../support/daemons/daemon.ts';
import { useSharedHost } from '../../support/hostile/shared-host-suite.ts';
import { imageTar } from '../../support/hostile/shared-host.ts';
import { sha256 } from '../../support/images/remotes.ts';

const suite = useSharedHost('strange');
const image = imageTar();
const fingerprint = sha256(image);
let unknown: ClientCertificate;
beforeAll(async () => {
  const { admin } = suite.host;
  unknown = await makeClient();
  await makeProject(admin, 'heir', { 'features.images': 'false' });
  // Public in default, so that a project that uses default's images would show it.
  await admin.ok('POST', '/1.0/images', image, { 'x-svc-public': 'true', 'content-type': 'application/octet-stream' });
  await admin.call('POST', '/1.0/images/aliases', { name: 'public', target: fingerprint });
});
afterAll(() => suite.host.admin.call('DELETE', '/1.0/projects/heir'));

const ask = (method: string, path: string, client?: ClientCertificate): Promise<Answer> =>
  callTls(
    suite.host.admin.daemon.httpsAddress() ?? '',
    method,
    path,
    undefined,
    client === undefined ? {} : { client },
  );

describe.each(['guest', 'untrusted'])('a caller that is %s', (who) => {
  const client = (): ClientCertificate | undefined => (who === 'guest' ? undefined : unknown);
  test.each([
    '/1.0?',
    '/1.0/images?',
    '/1.0/images?recursion=1&',
    '/1.0/images/FINGERPRINT?',
    '/1.0/images/FINGERPRINT?secret=wrong&',
    '/1.0/images/FINGERPRINT/export?',
    '/1.0/images/PUBLIC?',
    '/1.0/images/PUBLIC?secret=wrong&',
    '/1.0/images/aliases/public?',
    '/1.0/images/aliases/img?',
    '/1.0/containers?',
    '/1.0/projects/theirs?',
    '/1.0/events?',
  ])('gets the same from %s for each project, also one that is not there', async (path) => {
    const answers = await Promise.all(
      ['theirs', 'heir', 'nowhere'].map(async (project) => {
        const place = path.replace('FINGERPRINT', suite.host.fingerprint).replace('PUBLIC', fingerprint);
        const { status, headers, bytes } = await ask('GET', `${place}project=${project}`, client());
        const { date: _date, ...rest } = headers;
        return { status, rest, text: bytes.toString().replaceAll(project, 'PROJECT') };
      }),
    );
    expect(answers[0]).toEqual(answers[2]);
    expect(answers[1]).toEqual(answers[2]);
  });
});

test('a guest sees public images of the project that it names', async () => {
  expect((await ask('GET', `/1.0/images/${fingerprint}`)).status).toBe(200);
  const list = await ask('GET', '/1.0/images?project=default');
  expect(list.metadata).toContain(`/1.0/images/${fingerprint}`);
});

test('a secret opens an image in a project that uses those of default', async () => {
  const { admin } = suite.host;
  const made = await admin.call('POST', `/1.0/images/${fingerprint}/secret?project=heir`, {});
  await admin.call('PATCH', `/1.0/images/${fingerprint}`, { public: false });
  const secret = made.metadata.metadata.secret as string;
  const opened = await ask('GET', `/1.0/images/${fingerprint}?project=heir&secret=${secret}`);
  expect(opened.status).toBe(200);
  expect((await ask('GET', `/1.0/images/${fingerprint}?project=heir`)).status).toBe(404);
  await admin.call('PATCH', `/1.0/images/${fingerprint}`, { public: true });
});
