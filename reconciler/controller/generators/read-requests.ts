// Reads the open pull or merge requests of a repository from its git server's API. Ignores those from forks: only people who may
// push to the repository may bring manifests to hosts.
import { Type, type Static } from 'typebox';
import { validateBody } from '../../../server/api/schema/validate-json.ts';
import type { Entry, PullRequestsConfig } from '../config/generator-schema.ts';
import { authorizationOf, bodyText, dispatcherFor, get } from '../sources/http/download.ts';
import { isObjectId, problemOfRefName } from '../sources/git/ref-name.ts';
import { sourceErrors } from '../sources/source.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

const maxBytes = 16 * 1024 * 1024;
const maxPages = 20;
const maxReadings = 5;
const perPage = 50;

const Repository = Type.Union([Type.Object({ full_name: Type.String() }), Type.Null()]);
/** GitHub and Gitea. */
const PullRequests = Type.Array(
  Type.Object({
    number: Type.Integer({ minimum: 1 }),
    head: Type.Object({ ref: Type.String(), sha: Type.String(), repo: Type.Optional(Repository) }),
    base: Type.Object({ repo: Repository }),
    labels: Type.Optional(Type.Union([Type.Array(Type.Object({ name: Type.String() })), Type.Null()])),
  }),
);
const MergeRequests = Type.Array(
  Type.Object({
    iid: Type.Integer({ minimum: 1 }),
    source_branch: Type.String(),
    sha: Type.Union([Type.String(), Type.Null()]),
    source_project_id: Type.Union([Type.Integer(), Type.Null()]),
    target_project_id: Type.Integer(),
    labels: Type.Optional(Type.Array(Type.String())),
  }),
);

interface Request {
  readonly number: number;
  readonly branch: string;
  readonly commit: string;
  readonly labels: readonly string[];
  readonly isOwn: boolean;
}

/** Sorted by number. Rejects for an incomplete answer, so that no request counts as closed by mistake. */
export async function readRequests(
  name: string,
  config: PullRequestsConfig,
  absolute: (path: string) => string,
  signal: AbortSignal,
): Promise<readonly Entry[]> {
  const what = `the generator ${name}`;
  const { tokenFile, caFile, labels = [] } = config;
  const credentials = {
    ...withoutUndefined({ passwordFile: tokenFile, caFile }),
  };
  const authorization = await authorizationOf(credentials, absolute);
  const dispatcher = await dispatcherFor(credentials, absolute);
  try {
    const found = await readAll(async (page) => {
      const headers = { accept: 'application/json', 'user-agent': 'gantry' };
      const response = await get(urlOf(config, page), { what, authorization, headers, dispatcher }, signal);
      const text = (await bodyText(response, maxBytes, what)).toString('utf8');
      const requests = requestsOf(config, parsed(text, what), what);
      // A server may allow fewer on a page than were asked for.
      const isLast = requests.length < perPage && !/;\s*rel="?next\b/.test(response.headers.get('link') ?? '');
      return { requests, isLast };
    }, what);
    return [...found.values()]
      .filter((one) => one.isOwn && isUsable(one) && labels.every((label) => one.labels.includes(label)))
      .sort((a, b) => a.number - b.number)
      .map(({ number, branch, commit }) => ({ number: String(number), slug: slugOf(branch), commit, branch }));
  } finally {
    await dispatcher.close();
  }
}

interface Page {
  readonly requests: readonly Request[];
  readonly isLast: boolean;
}

/**
 * A request that closes between the reads of two pages moves the first of the next page onto the one that was read: that one is open and
 * in no answer. Several pages are read until two readings in a row hold the same requests.
 */
async function readAll(read: (page: number) => Promise<Page>, what: string): Promise<ReadonlyMap<number, Request>> {
  let before: ReadonlyMap<number, Request> | undefined;
  for (let reading = 1; reading <= maxReadings; reading += 1) {
    const { found, isOnePage } = await readPages(read, what);
    if (isOnePage || (before !== undefined && hasSame(before, found))) return found;
    before = found;
  }
  throw sourceErrors.unreachable(`${what}: the list of requests changes while it is read`);
}

async function readPages(
  read: (page: number) => Promise<Page>,
  what: string,
): Promise<{ readonly found: ReadonlyMap<number, Request>; readonly isOnePage: boolean }> {
  const found = new Map<number, Request>();
  for (let page = 1; page <= maxPages; page += 1) {
    const { requests, isLast } = await read(page);
    for (const one of requests) found.set(one.number, one);
    if (isLast) return { found, isOnePage: page === 1 };
  }
  throw sourceErrors.limit(`${what}: there are more than ${maxPages * perPage} requests`);
}

const hasSame = (one: ReadonlyMap<number, unknown>, other: ReadonlyMap<number, unknown>): boolean =>
  one.size === other.size && [...one.keys()].every((number) => other.has(number));

const apis = { github: 'https://api.github.com', gitlab: 'https://gitlab.com/api/v4', gitea: '' } as const;

function urlOf({ provider, repository, api = apis[provider] }: PullRequestsConfig, page: number): URL {
  const base = api.replace(/\/+$/, '');
  if (provider === 'gitlab')
    return new URL(
      `${base}/projects/${encodeURIComponent(repository)}/merge_requests?state=opened&per_page=${perPage}&page=${page}`,
    );
  const [owner = '', name = ''] = repository.split('/');
  const size = provider === 'gitea' ? 'limit' : 'per_page';
  return new URL(
    `${base}/repos/${encodeURIComponent(owner)}/${encodeURIComponent(name)}/pulls?state=open&${size}=${perPage}&page=${page}`,
  );
}

function parsed(text: string, what: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw sourceErrors.refused(`${what}: the answer of the git server is no JSON`, { cause: error });
  }
}

function requestsOf({ provider }: PullRequestsConfig, value: unknown, what: string): readonly Request[] {
  const schema = provider === 'gitlab' ? MergeRequests : PullRequests;
  const [problem] = validateBody(schema, value);
  if (problem !== undefined)
    throw sourceErrors.refused(
      `${what}: the git server answered no list of requests: ${problem.path} ${problem.message}`,
    );
  return provider === 'gitlab'
    ? (value as Static<typeof MergeRequests>).map((one) => ({
        number: one.iid,
        branch: one.source_branch,
        commit: one.sha ?? '',
        labels: one.labels ?? [],
        isOwn: one.source_project_id === one.target_project_id,
      }))
    : (value as Static<typeof PullRequests>).map(({ number, head, base, labels }) => ({
        number,
        branch: head.ref,
        commit: head.sha,
        labels: (labels ?? []).map((label) => label.name),
        isOwn: head.repo?.full_name !== undefined && head.repo.full_name === base.repo?.full_name,
      }));
}

/** Skips deleted branches and names that git refuses. */
const isUsable = ({ branch, commit }: Request): boolean => isObjectId(commit) && problemOfRefName(branch) === undefined;

/** The branch in a form for names. */
const slugOf = (branch: string): string =>
  branch
    .toLowerCase()
    .replaceAll(/[^a-z0-9]+/g, '-')
    .slice(0, 30)
    .replaceAll(/^-+|-+$/g, '') || 'branch';
