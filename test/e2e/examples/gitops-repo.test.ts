// examples/gitops-repo against fake APIs of GitHub and GitLab: exactly one comment is kept up to date.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { readConfig } from '../../../reconciler/controller/config/read-config.ts';
import { loadManifests } from '../../../reconciler/manifest/load.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const root = resolve(import.meta.dirname, '../../..');
const example = join(root, 'examples/gitops-repo');

interface Comment {
  readonly id: number;
  body: string;
  readonly user: { readonly login: string; readonly type: string };
  readonly author: { readonly id: number };
}

let folder = '';
let base = '';
let comments: Comment[] = [];
let failures: number[] = [];
let calls: string[] = [];
let stop = (): void => undefined;
beforeEach(async () => {
  folder = tempFolder('gantry-pr-');
  [comments, failures, calls] = [[], [], []];
  const server = createServer((request, response) => {
    const answer = async (): Promise<void> => {
      const sent = await text(request);
      const { pathname, searchParams } = new URL(request.url ?? '', 'http://x');
      calls.push(`${request.method ?? ''} ${pathname}`);
      const isKnown =
        request.headers.authorization === 'Bearer the-api-token' ||
        request.headers['private-token'] === 'the-api-token';
      const failure = isKnown ? failures.shift() : 401;
      if (failure !== undefined) {
        response.writeHead(failure).end('the-api-token is refused');
        return;
      }
      const body = sent === '' ? '' : (JSON.parse(sent) as { body: string }).body;
      const id = Number(pathname.split('/').at(-1));
      const found = comments.find((comment) => comment.id === id);
      if (pathname.endsWith('/user')) response.end('{"id":7}');
      else if (request.method === 'GET') {
        const from = (Number(searchParams.get('page')) - 1) * 100;
        response.end(JSON.stringify(comments.slice(from, from + 100)));
      } else if (request.method === 'POST') {
        comments.push(bot(1000 + comments.length, body));
        response.writeHead(201).end('{}');
      } else if (found === undefined) response.writeHead(404).end();
      else if (request.method === 'DELETE') {
        comments = comments.filter((comment) => comment !== found);
        response.writeHead(204).end();
      } else {
        found.body = body;
        response.end('{}');
      }
    };
    void answer();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  stop = () => {
    server.closeAllConnections();
    server.close();
  };
});
afterEach(() => stop());

const bot = (id: number, body: string): Comment => ({
  id,
  body,
  user: { login: 'github-actions[bot]', type: 'Bot' },
  author: { id: 7 },
});
const person = (id: number, body: string): Comment => ({
  id,
  body,
  user: { login: 'eve', type: 'User' },
  author: { id: 8 },
});

/** A stub for gantry with this output and exit code. */
function gantry(stdout: string, code: number, stderr = ''): void {
  writeFileSync(join(folder, 'stdout'), stdout);
  writeFileSync(join(folder, 'stderr'), stderr);
  const script = `#!/bin/sh\nprintf '%s ' "$@" > ${folder}/args\ncat ${folder}/stdout; cat ${folder}/stderr >&2; exit ${code}\n`;
  writeFileSync(join(folder, 'gantry'), script);
  chmodSync(join(folder, 'gantry'), 0o755);
}

async function run(
  provider: 'github' | 'gitlab',
  args: readonly string[] = [],
  more: Readonly<Record<string, string>> = {},
) {
  writeFileSync(join(folder, 'event.json'), '{"pull_request":{"number":5}}');
  const github = {
    GITHUB_ACTIONS: 'true',
    GITHUB_EVENT_PATH: join(folder, 'event.json'),
    GITHUB_API_URL: base,
    GITHUB_REPOSITORY: 'team/site',
    GITHUB_TOKEN: 'the-api-token',
    GITHUB_SHA: 'abcdef0123456789',
  };
  const gitlab = {
    GITLAB_CI: 'true',
    CI_API_V4_URL: base,
    CI_PROJECT_ID: '42',
    CI_MERGE_REQUEST_IID: '5',
    GITLAB_TOKEN: 'the-api-token',
    CI_COMMIT_SHA: 'abcdef0123456789',
  };
  const env = {
    PATH: process.env['PATH'] ?? '',
    GANTRY_PROGRAM: join(folder, 'gantry'),
    RETRY_PAUSE_MS: '1',
    ...(provider === 'github' ? github : gitlab),
    ...more,
  };
  const child = spawn(process.execPath, [join(example, 'ci/plan-comment.mjs'), ...args, '--', '-f', 'sets/web'], {
    env,
  });
  const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')]);
  return { stdout, stderr, code: code as number };
}

describe.each(['github', 'gitlab'] as const)('the comment of a plan on %s', (provider) => {
  test('is made once and then changed; unchanged plans change nothing', async () => {
    gantry('### 1 to create\n', 2);
    expect((await run(provider)).code).toBe(0);
    expect(readFileSync(join(folder, 'args'), 'utf8')).toBe(
      'plan --detailed-exitcode --no-input -o markdown -f sets/web ',
    );
    gantry('### No changes\n', 0);
    expect((await run(provider)).code).toBe(0);
    expect(comments).toHaveLength(1);
    expect(comments[0]?.body).toBe(
      '<!-- gantry: plan -->\n## Gantry: plan\n\n### No changes\n\n_Plan of abcdef012345._',
    );
    calls = [];
    await run(provider);
    expect(calls.filter((call) => !call.startsWith('GET'))).toEqual([]);
    await run(provider, ['--name', 'db']);
    expect(comments).toHaveLength(2);
  });

  test('leaves comments of people alone, is found behind hundreds of others, and its duplicates go', async () => {
    const marker = '<!-- gantry: plan -->\n';
    comments = [
      person(1, `${marker}forged`),
      ...Array.from({ length: 250 }, (_, at) => person(at + 10, 'chat')),
      bot(700, `${marker}old`),
      bot(701, `${marker}twice`),
      bot(702, `said: ${marker}`),
    ];
    gantry('### new', 2);
    expect((await run(provider)).code).toBe(0);
    expect(comments.filter(({ id }) => id >= 700).map(({ id }) => id)).toEqual([700, 702]);
    expect(comments.find(({ id }) => id === 700)?.body).toContain('### new');
    expect(comments[0]?.body).toBe(`${marker}forged`);
  });

  test('says that the plan failed, and the job ends with the code of the plan', async () => {
    gantry('', 7, 'cannot reach the server\n```\n<script>\n');
    expect((await run(provider)).code).toBe(7);
    expect(comments[0]?.body).toContain(
      '### The plan failed (exit code 7)\n\n````text\ncannot reach the server\n```\n<script>\n````',
    );
    gantry('x', 2);
    expect((await run(provider, ['--fail-on-changes'])).code).toBe(2);
    expect((await run(provider, [], { GANTRY_PROGRAM: join(folder, 'absent') })).code).toBe(127);
  });

  test('is at most 60,000 characters long and ends what it opened', async () => {
    gantry(
      `### many\n\n<details>\n<summary>x</summary>\n\n\`\`\`diff\n${'+ line of a plan\n'.repeat(10_000)}\`\`\`\n</details>\n`,
      2,
    );
    expect((await run(provider)).code).toBe(0);
    const body = comments[0]?.body ?? '';
    expect(body.length).toBeLessThanOrEqual(60_000);
    expect(body).toContain('\n```\n\n</details>\n\n_The rest is too long');
  });

  test('holds no secret of the job', async () => {
    gantry('+ password: hunter2hunter2 the-api-token', 2);
    const { stdout } = await run(provider, [], { GANTRY_VAR_DB: 'hunter2hunter2' });
    for (const shown of [stdout, comments[0]?.body ?? '']) expect(shown).toContain('+ password: *** ***');
  });

  test('is retried when the API fails; a refusal ends the job with 1 and shows no token', async () => {
    gantry('### x', 2);
    failures = [502, 429];
    expect((await run(provider)).code).toBe(0);
    expect(comments).toHaveLength(1);
    failures = [403];
    const { code, stderr } = await run(provider);
    expect(code).toBe(1);
    expect(stderr).toContain('ended with 403: *** is refused');
  });

  test('is only printed outside of a pull request or without a token', async () => {
    gantry('### x', 2);
    const { code, stdout, stderr } = await run(provider, [], { GITHUB_TOKEN: '', GITLAB_TOKEN: '' });
    expect([code, calls]).toEqual([0, []]);
    expect(stdout).toContain('### x');
    expect(stderr).toContain('only printed');
  });
});

test('the configuration of the controller and the manifests of its sets are valid', async () => {
  const { config, diagnostics } = await readConfig(join(example, 'gantry.yaml'));
  expect(diagnostics).toEqual([]);
  expect(config?.sets.map(({ path }) => path)).toEqual(['sets/web']);
  const loaded = await loadManifests({ paths: [join(example, 'sets/web')] });
  expect(loaded.diagnostics).toEqual([]);
});

test('the templates run the script, for pull requests of the repository itself only', () => {
  const github = readFileSync(join(example, '.github/workflows/plan.yml'), 'utf8');
  const gitlab = readFileSync(join(example, '.gitlab-ci.yml'), 'utf8');
  for (const template of [github, gitlab]) {
    expect(() => parse(template) as unknown).not.toThrow();
    expect(template).toContain('node ci/plan-comment.mjs --name web -- -f sets/web');
  }
  expect(Object.keys((parse(github) as { on: object }).on)).toEqual(['pull_request']);
  expect(github).toContain('github.event.pull_request.head.repo.full_name == github.repository');
  expect(gitlab).toContain('$CI_MERGE_REQUEST_SOURCE_PROJECT_ID == $CI_PROJECT_ID');
});
