// Open pull and merge requests from fake APIs of GitHub, Gitea and GitLab, including malformed answers.
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { PullRequestsConfig } from '../../../../reconciler/controller/config/generator-schema.ts';
import { readRequests } from '../../../../reconciler/controller/generators/read-requests.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

let answer: (page: number) => string;
let lastPage = 0;
let asked: { readonly url: string; readonly authorization: string | undefined }[] = [];
const server = createServer((request: IncomingMessage, response) => {
  const { url = '' } = request;
  asked.push({ url, authorization: request.headers.authorization });
  const page = Number(new URL(url, 'http://localhost').searchParams.get('page'));
  if (page < lastPage) response.setHeader('link', `<${api}${url}>; rel="next", <${api}/last>; rel="last"`);
  response.end(answer(page));
});
let api = '';
const folder = tempFolder('gantry-requests-');
beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  api = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  writeFileSync(join(folder, 'token'), 'a token of the generator\n');
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  asked = [];
  lastPage = 0;
});

const read = (more: Partial<PullRequestsConfig> = {}) =>
  readRequests(
    'previews',
    { provider: 'gitea', repository: 'team/shop', source: 'shop', api, tokenFile: 'token', ...more },
    (path) => join(folder, path),
    new AbortController().signal,
  );

const commit = 'a'.repeat(40);
const pull = (number: number, ref: string, more: object = {}, from = 'team/shop') => ({
  number,
  head: { ref, sha: commit, repo: { full_name: from } },
  base: { repo: { full_name: 'team/shop' } },
  labels: [{ name: 'preview' }],
  ...more,
});

describe('open requests', () => {
  test('come from all pages, with the token, and only from branches of the repository itself', async () => {
    const first = Array.from({ length: 50 }, (_, at) => pull(at + 1, `feature/Nr_${at + 1}`));
    const rest = [
      pull(51, 'main', {}, 'mallory/shop'),
      pull(52, 'gone', { head: { ref: 'gone', sha: commit, repo: null } }),
    ];
    answer = (page) => JSON.stringify(page === 1 ? first : rest);
    const found = await read();
    expect(found).toHaveLength(50);
    expect(found[4]).toEqual({ number: '5', slug: 'feature-nr-5', commit, branch: 'feature/Nr_5' });
    const pages = [
      '/repos/team/shop/pulls?state=open&limit=50&page=1',
      '/repos/team/shop/pulls?state=open&limit=50&page=2',
    ];
    expect(asked.map(({ url }) => url)).toEqual([...pages, ...pages]);
    expect(asked[0]?.authorization).toBe('Bearer a token of the generator');
  });

  test('stay open when another one closes between the reads of two pages, and the closed one does not count', async () => {
    let open = Array.from({ length: 60 }, (_, at) => pull(at + 1, `branch-${at + 1}`));
    let reads = 0;
    answer = (page) => {
      const text = JSON.stringify(open.slice((page - 1) * 50, page * 50));
      if (++reads === 1) open = open.filter(({ number }) => number !== 7);
      return text;
    };
    const numbers = (await read()).map(({ number }) => number);
    expect([numbers.includes('51'), numbers.includes('7'), numbers.length]).toEqual([true, false, 59]);
  });

  test('are unknown while the list changes at every reading', async () => {
    let reads = 0;
    answer = () =>
      JSON.stringify(Array.from({ length: ++reads % 2 === 1 ? 50 : 1 }, (_, at) => pull(reads * 100 + at, 'a')));
    await expect(read()).rejects.toThrow('the list of requests changes while it is read');
  });

  test('come from all pages of a server that allows fewer on a page', async () => {
    lastPage = 3;
    answer = (page) => JSON.stringify([pull(page, `branch-${page}`)]);
    expect((await read()).map(({ number }) => number)).toEqual(['1', '2', '3']);
  });

  test('count only with all required labels', async () => {
    answer = () => JSON.stringify([pull(1, 'a'), pull(2, 'b', { labels: [] }), pull(3, 'c', { labels: null })]);
    expect((await read({ provider: 'github', labels: ['preview'] })).map(({ number }) => number)).toEqual(['1']);
    expect(asked[0]?.url).toContain('per_page=50');
  });

  test('are merge requests on GitLab', async () => {
    const merge = (iid: number, source: number) => ({
      iid,
      source_branch: 'x',
      sha: commit,
      source_project_id: source,
      target_project_id: 7,
      labels: ['preview'],
    });
    answer = () => JSON.stringify([merge(4, 7), merge(5, 8)]);
    expect((await read({ provider: 'gitlab', repository: 'team/sub/shop' })).map(({ number }) => number)).toEqual([
      '4',
    ]);
    expect(asked[0]?.url).toContain('/projects/team%2Fsub%2Fshop/merge_requests?state=opened');
  });

  test('are skipped if git refuses the name of their branch', async () => {
    answer = () => JSON.stringify([pull(1, '--upload-pack=x'), pull(2, '../x'), pull(3, 'a b'), pull(4, '$(reboot)')]);
    expect((await read()).map(({ branch, slug }) => [branch, slug])).toEqual([['$(reboot)', 'reboot']]);
  });

  test('are unknown, not closed, after a malformed answer', async () => {
    for (const text of ['', '<html>', '{"message":"Not Found"}', '[{"number":"x"}]', 'null']) {
      answer = () => text;
      await expect(read(), text).rejects.toThrow(
        /the answer of the git server is no JSON|answered no list of requests/,
      );
    }
    answer = () => JSON.stringify(Array.from({ length: 50 }, (_, at) => pull(at + 1, 'a')));
    await expect(read()).rejects.toThrow('more than 1000 requests');
  });
});
