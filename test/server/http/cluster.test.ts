// The endpoints of the cluster on a server that is in none, in both dialects.
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { call, makeDaemon, type Answer, type Sent, type TestDaemon } from '../../support/daemons/daemon.ts';
import { tempFolder } from '../../support/temp-folder.ts';

let daemon: TestDaemon;
const work = tempFolder('gtyk-');
beforeAll(async () => (daemon = await makeDaemon({ lxd: { socket: join(work, 'unix.socket') } })));
afterAll(() => daemon?.cleanUp());

const svc = (method: string, path: string, body?: Sent, headers = {}): Promise<Answer> =>
  daemon.call(method, path, body, headers);
const lxd = (method: string, path: string, body?: Sent, headers = {}): Promise<Answer> =>
  call({ socketPath: join(work, 'unix.socket') }, method, path, body, headers);
const textOf = (answer: Answer): string => answer.bytes.toString();

describe.each([
  ['svc', svc],
  ['lxd', lxd],
] as const)('in the dialect %s', (_name, send) => {
  test('the membership is that of a server in no cluster', async () => {
    const answer = await send('GET', '/1.0/cluster');
    expect([answer.status, answer.metadata]).toEqual([200, { server_name: '', enabled: false, member_config: [] }]);
    expect(answer.headers.etag).toMatch(/^[0-9a-f]{64}$/);
  });

  test('forming and joining without what they need is refused with the reason, and leaves the server as it was', async () => {
    const form = await send('PUT', '/1.0/cluster', { server_name: 'one', enabled: true });
    expect([form.status, textOf(form)]).toEqual([400, expect.stringContaining('server_address: is required')]);
    const everywhere = { server_name: 'one', enabled: true, server_address: ':8443' };
    expect(textOf(await send('PUT', '/1.0/cluster', everywhere))).toContain('must name the address at which');
    const address = { server_name: 'two', enabled: true, server_address: '127.0.0.1:18443' };
    const join_ = { ...address, cluster_address: '10.0.0.1:8443' };
    const joined = await send('PUT', '/1.0/cluster', join_);
    expect([joined.status, textOf(joined)]).toEqual([400, expect.stringContaining('cluster_certificate: is required')]);
    const token = await send('PUT', '/1.0/cluster', { ...address, cluster_token: 'bm8gdG9rZW4=' });
    expect([token.status, textOf(token)]).toEqual([400, expect.stringContaining('cluster_token: is no token')]);
    const last = { ...address, server_address: '127.0.0.1:65534' };
    const founded = await send('PUT', '/1.0/cluster', last);
    const ended = (await svc('GET', `${founded.body.operation}/wait`)).metadata as { err: string };
    expect(ended.err).toContain('leaves no room for etcd');
    expect((await send('GET', '/1.0/cluster')).metadata).toMatchObject({ enabled: false });
    expect((await send('GET', '/1.0')).metadata).toMatchObject({ environment: { server_clustered: false } });
  });

  test('leaving is accepted, since the server is in no cluster', async () => {
    const { etag } = (await send('GET', '/1.0/cluster')).headers;
    for (const headers of [{}, { 'if-match': etag }]) {
      const answer = await send('PUT', '/1.0/cluster', { server_name: '', enabled: false }, headers);
      expect([answer.status, answer.body.type]).toEqual([200, 'sync']);
    }
    expect((await send('PUT', '/1.0/cluster', { enabled: false }, { 'if-match': 'other' })).status).toBe(412);
  });

  test.each([
    [{ enabled: true }, /server_name: must be set/],
    [{ enabled: true, server_name: '' }, /server_name: must be set/],
    [{ enabled: false, server_name: 'one' }, /server_name: must be empty/],
    [{ server_name: 'one' }, /enabled/],
  ])('%j is refused with the field', async (body, why) => {
    const answer = await send('PUT', '/1.0/cluster', body);
    expect([answer.status, textOf(answer)]).toEqual([400, expect.stringMatching(why)]);
  });

  test.each([
    ['POST', '/1.0/cluster/members', { server_name: 'one' }],
    ['PUT', '/1.0/cluster/certificate', { cluster_certificate: 'a', cluster_certificate_key: 'b' }],
    ['POST', '/1.0/cluster/groups', { name: 'g' }],
    ['GET', '/1.0/cluster/groups/g', undefined],
    ['PUT', '/1.0/cluster/groups/g', { members: [] }],
    ['PATCH', '/1.0/cluster/groups/g', { description: 'a' }],
    ['POST', '/1.0/cluster/groups/g', { name: 'h' }],
    ['DELETE', '/1.0/cluster/groups/g', undefined],
    ['POST', '/internal/cluster/keys', undefined],
    ['GET', '/1.0?target=one', undefined],
    ['POST', '/1.0/containers?target=one', { name: 'c', source: { type: 'none' } }],
  ])('%s %s is refused: the caller asked the wrong server', async (method, path, body) => {
    const answer = await send(method, path, body);
    expect([answer.status, textOf(answer)]).toEqual([400, expect.stringContaining('not part of a cluster')]);
  });

  test('no member is found', async () => {
    const answers = await Promise.all([
      send('GET', '/1.0/cluster/members/one'),
      send('POST', '/1.0/cluster/members/one', { server_name: 'two' }),
      send('DELETE', '/1.0/cluster/members/one?force=1'),
      send('PUT', '/1.0/cluster/members/one', {}),
      send('POST', '/1.0/cluster/members/one/state', { action: 'evacuate' }),
    ]);
    for (const answer of answers)
      expect([answer.status, textOf(answer)]).toEqual([404, expect.stringContaining('not part of a cluster')]);
  });
});

test('the list of members is empty; clients of LXD get a refusal, as on real servers', async () => {
  for (const path of ['/1.0/cluster/members', '/1.0/cluster/members?recursion=1'])
    expect((await svc('GET', path)).metadata).toEqual([]);
  const failed = await lxd('GET', '/1.0/cluster/members');
  expect([failed.status, failed.body.error]).toEqual([400, 'This server is not part of a cluster']);
});
