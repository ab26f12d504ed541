// Changes with more records than one transaction can hold: the error says which and how many, and nothing is half done.
import { beforeAll, expect, test } from 'vitest';
import { emptySource } from '../../support/daemons/daemon.ts';
import { seededDaemon } from '../../support/daemons/file-daemon.ts';

const daemon = await seededDaemon();
const many = Array.from({ length: 130 }, (_, index) => `p${index}`);
beforeAll(async () => {
  for (const name of many) {
    expect((await daemon.call('POST', '/1.0/profiles', { name })).status).toBe(200);
    const volume = await daemon.call('POST', '/1.0/storage-pools/default/volumes/custom', { name });
    if (volume.status === 202) await daemon.wait(volume.body.operation as string);
  }
});

const create = (name: string, more: object) =>
  daemon.call('POST', '/1.0/containers', { name, source: emptySource, ...more });
const disks = Object.fromEntries(
  many.map((name) => [name, { type: 'disk', pool: 'default', source: name, path: `/mnt/${name}` }]),
);

test('a container with more profiles than one change can hold is refused with both numbers, and not created', async () => {
  const answer = await create('web', { profiles: ['default', ...many] });
  const text =
    answer.status === 202 ? (await daemon.wait(answer.body.operation as string)).err : answer.bytes.toString();
  expect([202, 400]).toContain(answer.status);
  expect(text).toMatch(
    /This change holds \d+ records together \(profiles: 131,.*\), and one change can hold 120: name/,
  );
  expect(await daemon.get('/1.0/containers')).toEqual([]);
});

test.each([
  ['PATCH', { profiles: ['default', ...many] }, /profiles: 131/],
  ['PUT', { profiles: ['default', ...many] }, /profiles: 131/],
  ['PATCH', { devices: disks }, /volumes: 130/],
] as const)(
  '%s of a container with too many of them answers 400 and leaves it as it was',
  async (method, body, what) => {
    const made = await create('db', {});
    if (made.status === 202) await daemon.wait(made.body.operation as string);
    const before = await daemon.get('/1.0/containers/db');
    const answer = await daemon.call(method, '/1.0/containers/db', body);
    if (answer.status === 202) expect((await daemon.wait(answer.body.operation as string)).err).toMatch(what);
    else expect([answer.status, answer.bytes.toString()]).toEqual([400, expect.stringMatching(what)]);
    expect(await daemon.get('/1.0/containers/db')).toEqual(before);
  },
);

test('an object that two changes make too large for the store is refused with its size', async () => {
  const half = { config: { 'user.a': 'x'.repeat(700_000) } };
  expect((await daemon.call('PATCH', '/1.0/profiles/p1', half)).status).toBe(200);
  const answer = await daemon.call('PATCH', '/1.0/profiles/p1', { config: { 'user.b': 'x'.repeat(700_000) } });
  expect([answer.status, answer.bytes.toString()]).toEqual([
    400,
    expect.stringMatching(/would have 140\d{4} bytes, and an object can have 1048576/),
  ]);
});
