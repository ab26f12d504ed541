// A tenant with a restricted certificate, at every endpoint of the table: the project of another team answers like a missing one, server
// objects are refused, and the other team's objects stay unchanged.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Endpoint } from '../../../../server/api/endpoints/endpoint.ts';
import { endpoints } from '../../../../server/api/endpoints/endpoint-table.ts';
import { openSharedHost, type SharedHost } from '../../../support/hostile/shared-host.ts';

let host: SharedHost;
let before = '';
beforeAll(async () => {
  host = await openSharedHost();
  before = await host.world();
});
afterAll(async () => {
  expect(await host.world()).toBe(before);
  await host.cleanUp();
});

/** Names of the victim's objects in the path. */
function pathOf({ path }: Endpoint): string {
  const names: Readonly<Record<string, string>> = {
    ':name': path.includes('/volumes/') ? 'vol' : path.includes('/profiles/') ? 'hidden' : 'victim',
    ':snapshot': path.includes('/volumes/') ? 'vsnap' : 'snap',
    ':backup': 'back',
    ':fingerprint': host.fingerprint,
    ':pool': 'default',
    ':type': 'custom',
    ':file': 'lxc.log',
    ':id': '00000000-0000-4000-8000-000000000000',
    '*': 'img',
  };
  return path
    .split('/')
    .map((part) => names[part] ?? part)
    .join('/');
}

const rows: readonly Endpoint[] = endpoints.filter((row) => row.built && row.mode !== 'websocket');
const inProjects = rows.filter((row) => row.scope === 'project');
const body = (row: Endpoint): object | undefined => (['GET', 'DELETE'].includes(row.method) ? undefined : {});

describe.each(['theirs', 'default', 'nowhere', 'THEIRS', 'theirs%25victim', 'mine,theirs', 'mi%6Ee%00', '../theirs'])(
  'the project %s',
  (project) => {
    test.each(inProjects)('is not found by $method $path', async (row) => {
      const answer = await host.tenant(row.method, `${pathOf(row)}?project=${project}`, body(row));
      expect([answer.status, answer.metadata]).toEqual([
        404,
        { code: 'notFound', message: `The project ${decodeURIComponent(project)} was not found`, details: [] },
      ]);
    });
  },
);

test.each(inProjects)('$method $path without a project is not found either', async (row) => {
  const answer = await host.tenant(row.method, pathOf(row), body(row));
  expect([answer.status, answer.metadata?.message]).toEqual([404, 'The project default was not found']);
});

test.each(inProjects)('$method $path is not served for all projects', async (row) => {
  for (const all of ['true', 'x']) {
    const answer = await host.tenant(row.method, `${pathOf(row)}?project=mine&all-projects=${all}`, body(row));
    expect([answer.status, answer.metadata?.message]).toEqual([403, expect.stringContaining('restricted to projects')]);
  }
  const star = await host.tenant(row.method, `${pathOf(row)}?project=*`, body(row));
  expect(star.status).toBe(403);
});

const ofServer = rows.filter((row) => row.scope === 'server');
test.each(ofServer)('$method $path is refused in any project', async (row) => {
  for (const query of ['', '?project=mine', '?project=mine&project=default']) {
    const answer = await host.tenant(row.method, `${pathOf(row)}${query}`, body(row));
    expect([answer.status, answer.metadata?.message]).toEqual([
      403,
      expect.stringContaining('the client certificate is restricted to projects'),
    ]);
  }
});

const shared = rows.filter((row) => row.scope === 'shared' && row.auth.length === 2);
test.each(shared)('$method $path does not take the project of others', async (row) => {
  for (const project of ['theirs', 'default', 'nowhere']) {
    const answer = await host.tenant(row.method, `${pathOf(row)}?project=${project}`, body(row));
    expect([answer.status, answer.metadata?.message]).toEqual([404, `The project ${project} was not found`]);
  }
});

test('unknown methods get the usual answer, and change nothing', async () => {
  for (const path of ['/1.0/containers?project=theirs', '/1.0/projects/theirs', '/1.0/certificates'])
    expect((await host.tenant('PATCH', path, {})).status).not.toBe(200);
});
