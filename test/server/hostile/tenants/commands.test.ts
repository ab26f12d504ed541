// A tenant starts more commands than its project allows: its neighbours' commands still start.
import { expect, test } from 'vitest';
import { connectAll } from '../../../support/daemons/channels.ts';
import type { Answer } from '../../../support/daemons/daemon.ts';
import { useSharedHost } from '../../../support/hostile/shared-host-suite.ts';

const suite = useSharedHost('cmd');
const command = { command: ['true'], 'wait-for-websocket': true };
const run = (project: string, name: string): Promise<Answer> =>
  suite.host.admin.call('POST', `/1.0/containers/${name}/exec?project=${project}`, command);

test('a project with limits.operations under way begins no further command, and its neighbour does', async () => {
  const { admin } = suite.host;
  for (const project of ['mine', 'theirs'])
    await admin.ok('PUT', `/1.0/containers/own/state?project=${project}`, { action: 'start' });
  await admin.call('PATCH', '/1.0/projects/mine', { config: { 'limits.operations': '3' } });
  const asked: Answer[] = [];
  for (let n = 0; n < 4; n += 1)
    asked.push(await suite.host.tenant('POST', '/1.0/containers/own/exec?project=mine', command));
  expect(asked.map(({ status }) => status)).toEqual([202, 202, 202, 403]);
  expect(asked[3]?.bytes.toString()).toContain('limits.operations');
  expect((await run('theirs', 'own')).status).toBe(202);
  for (const answer of asked.slice(0, 3)) await (await connectAll(admin, answer)).ended;
  expect((await suite.host.tenant('POST', '/1.0/containers/own/exec?project=mine', command)).status).toBe(202);
});

test('a restricted project has at most 200 unless its config says otherwise', async () => {
  await suite.host.admin.call('PATCH', '/1.0/projects/mine', { config: { 'limits.operations': '' } });
  const asked = await Promise.all(
    Array.from({ length: 260 }, () => suite.host.tenant('POST', '/1.0/containers/own/exec?project=mine', command)),
  );
  const begun = asked.filter(({ status }) => status === 202).length;
  expect(begun).toBeLessThanOrEqual(200);
  expect(asked.filter(({ status }) => status === 403).length).toBe(260 - begun);
});
