// Networks as clients of LXD see them from projects: a restricted one has those that its containers may use.
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Answer, call, makeSeeded, type Sent, type TestDaemon } from '../../support/daemons/daemon.ts';
import { makeProject } from '../../support/daemons/projects.ts';
import { tempFolder } from '../../support/temp-folder.ts';

let daemon: TestDaemon;
const work = tempFolder('gtyn-');
beforeAll(async () => {
  daemon = await makeSeeded({ lxd: { socket: join(work, 'unix.socket') } });
  for (const name of ['ours', 'others'])
    await lxd('POST', '/1.0/networks', { name, config: { 'ipv4.address': 'none' } });
  await makeProject(daemon, 'open', {});
  await makeProject(daemon, 'any', { restricted: 'true' });
  await makeProject(daemon, 'some', { restricted: 'true', 'restricted.networks.access': 'ours' });
  await makeProject(daemon, 'none', { restricted: 'true', 'restricted.devices.nic': 'block' });
});
afterAll(() => daemon?.cleanUp());
const lxd = (method: string, path: string, body?: Sent): Promise<Answer> =>
  call({ socketPath: join(work, 'unix.socket') }, method, path, body);
const managed = (names: readonly string[]): readonly string[] => names.filter((name) => /^(ours|others)$/.test(name));

test.each([
  ['open', ['others', 'ours']],
  ['any', ['others', 'ours']],
  ['some', ['ours']],
  ['none', []],
] as const)('the project %s lists %j', async (project, wanted) => {
  const urls = (await lxd('GET', `/1.0/networks?project=${project}`)).metadata as readonly string[];
  const names = urls.map((url) => url.split('?')[0]?.split('/').at(-1) ?? '');
  expect(managed(names)).toEqual(wanted);
  const whole = (await lxd('GET', `/1.0/networks?project=${project}&recursion=1`)).metadata as readonly {
    name: string;
  }[];
  expect(whole.map(({ name }) => name)).toEqual(names);
});

test('interfaces of the host are not in a restricted project', async () => {
  const list = async (project: string) =>
    (await lxd('GET', `/1.0/networks?recursion=1&project=${project}`)).metadata as readonly { managed: boolean }[];
  expect((await list('any')).every((network) => network.managed)).toBe(true);
});

test.each([
  ['GET', ''],
  ['PUT', ''],
  ['PATCH', ''],
  ['POST', ''],
  ['DELETE', ''],
  ['GET', '/state'],
  ['GET', '/leases'],
])('%s%s of a network outside restricted.networks.access answers 404, and leaves it as it is', async (method, rest) => {
  const body = method === 'GET' || method === 'DELETE' ? undefined : { name: 'new', config: {} };
  const before = (await lxd('GET', '/1.0/networks/others')).metadata;
  const answer = await lxd(method, `/1.0/networks/others${rest}?project=some`, body);
  expect([answer.status, answer.body.error]).toEqual([404, 'The network others was not found']);
  expect((await lxd('GET', '/1.0/networks/others')).metadata).toEqual(before);
  if (method === 'GET') expect((await lxd('GET', `/1.0/networks/ours${rest}?project=some`)).status).toBe(200);
});
