// Plans with gantry and keeps the plan as one comment of a pull or merge request. For GitHub and GitLab; needs Node 20 and nothing else.
//   node ci/plan-comment.mjs [--name NAME] [--fail-on-changes] -- ARGUMENTS OF gantry plan
// Exit codes: of the plan, but 0 for changes unless --fail-on-changes (then 2); 1 when the comment cannot be written.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** GitHub takes 65,536 characters in a comment; GitLab takes more. */
const mostCharacters = 60_000;
const maxOutput = 4 * 1024 * 1024;
const maxPages = 30;

const split = process.argv.indexOf('--');
const own = process.argv.slice(2, split < 0 ? undefined : split);
const planArguments = split < 0 ? [] : process.argv.slice(split + 1);
const nameAt = own.indexOf('--name');
const name = nameAt < 0 ? 'plan' : (own[nameAt + 1] ?? '');
if (!/^[\w.-]{1,60}$/.test(name)) throw new Error('--name takes letters, digits, ., _ and -');
const marker = `<!-- gantry: ${name} -->`;

const plan = await runPlan();
const exitCode = plan.code === 2 && !own.includes('--fail-on-changes') ? 0 : plan.code;
const body = commentOf(plan);
process.stdout.write(`${body}\n`);
const target = targetOf(process.env);
if (target === undefined)
  process.stderr.write('No pull request, or no token that may comment: the plan is only printed.\n');
try {
  if (target !== undefined) await keepOneComment(target, body);
  process.exitCode = exitCode;
} catch (error) {
  process.stderr.write(`The comment cannot be written: ${redacted(String(error.message))}\n`);
  process.exitCode = exitCode === 0 ? 1 : exitCode;
}

function runPlan() {
  const child = spawn(
    process.env.GANTRY_PROGRAM ?? 'gantry',
    ['plan', '--detailed-exitcode', '--no-input', '-o', 'markdown', ...planArguments],
    {
      stdio: ['ignore', 'pipe', 'pipe'],
    },
  );
  const texts = { stdout: '', stderr: '' };
  for (const stream of ['stdout', 'stderr']) {
    child[stream].setEncoding('utf8').on('data', (chunk) => {
      if (texts[stream].length < maxOutput) texts[stream] += chunk;
    });
  }
  return new Promise((resolve) => {
    child.on('error', (error) =>
      resolve({ ...texts, stderr: `gantry cannot be started: ${error.message}`, code: 127 }),
    );
    child.on('close', (code) => resolve({ ...texts, code: code ?? 1 }));
  });
}

function commentOf({ code, stdout, stderr }) {
  const commit = (process.env.GITHUB_SHA ?? process.env.CI_COMMIT_SHA ?? '').slice(0, 12);
  const about = /^[0-9a-f]+$/.test(commit) ? `\n\n_Plan of ${commit}._` : '';
  const head = `${marker}\n## Gantry: ${name}\n\n`;
  const room = mostCharacters - head.length - about.length - 400;
  const isPlanned = code === 0 || code === 2;
  const text = redacted(stdout).trim();
  const said = redacted(stderr).trim();
  if (isPlanned) return `${head}${cut(text, room)}${about}`;
  // A longer fence than any inside: the text cannot leave it.
  const longest = Math.max(2, ...[...said.matchAll(/`+/g)].map(([ticks]) => ticks.length));
  const fence = '`'.repeat(longest + 1);
  return `${head}### The plan failed (exit code ${code})\n\n${fence}text\n${said.slice(0, room)}\n${fence}${about}`;
}

/** Ends what was open where the text is cut. */
function cut(text, room) {
  if (text.length <= room) return text;
  const kept = text.slice(0, text.lastIndexOf('\n', room));
  const isInFence = (kept.match(/^(```|~~~)/gm) ?? []).length % 2 === 1;
  const open = (kept.match(/<details>/g) ?? []).length - (kept.match(/<\/details>/g) ?? []).length;
  return `${kept}${isInFence ? '\n```' : ''}${'\n\n</details>'.repeat(Math.max(0, open))}\n\n_The rest is too long for a comment: see the log of the job._`;
}

/** Gantry leaves secrets out of plans; this also leaves out values of the job's own secrets, should a manifest show one. */
function redacted(text) {
  const secrets = Object.entries(process.env)
    .filter(
      ([key, value]) =>
        /TOKEN|SECRET|PASSWORD|PASSWD|PRIVATE_KEY|CREDENTIAL|^GANTRY_VAR_/i.test(key) && (value ?? '').length >= 6,
    )
    .map(([, value]) => value ?? '')
    .sort((a, b) => b.length - a.length);
  return secrets.reduce((rest, secret) => rest.replaceAll(secret, '***'), text);
}

function targetOf(env) {
  if (env.GITHUB_ACTIONS === 'true') {
    const event = env.GITHUB_EVENT_PATH === undefined ? {} : JSON.parse(readFileSync(env.GITHUB_EVENT_PATH, 'utf8'));
    const number = event.pull_request?.number;
    if (!Number.isInteger(number) || !env.GITHUB_TOKEN || !env.GITHUB_REPOSITORY) return undefined;
    const repository = `${env.GITHUB_API_URL ?? 'https://api.github.com'}/repos/${env.GITHUB_REPOSITORY}/issues`;
    const headers = {
      authorization: `Bearer ${env.GITHUB_TOKEN}`,
      accept: 'application/vnd.github+json',
      'x-github-api-version': '2022-11-28',
    };
    // Comments of people that begin with the marker are left alone.
    const isOwn = async () => (comment) =>
      env.COMMENT_AUTHOR ? comment.user?.login === env.COMMENT_AUTHOR : comment.user?.type === 'Bot';
    return {
      list: `${repository}/${number}/comments`,
      one: (id) => `${repository}/comments/${id}`,
      change: 'PATCH',
      headers,
      isOwn,
    };
  }
  if (env.GITLAB_CI === 'true') {
    if (!env.CI_MERGE_REQUEST_IID || !env.GITLAB_TOKEN || !env.CI_API_V4_URL || !env.CI_PROJECT_ID) return undefined;
    const list = `${env.CI_API_V4_URL}/projects/${encodeURIComponent(env.CI_PROJECT_ID)}/merge_requests/${encodeURIComponent(env.CI_MERGE_REQUEST_IID)}/notes`;
    const headers = { 'private-token': env.GITLAB_TOKEN };
    const isOwn = async () => {
      const user = await call('GET', `${env.CI_API_V4_URL}/user`, headers);
      return (note) => note.author?.id === user.id;
    };
    return { list, one: (id) => `${list}/${id}`, change: 'PUT', headers, isOwn };
  }
  return undefined;
}

/** The oldest own comment with the marker is changed; others that a job at the same time made are deleted. */
async function keepOneComment(target, text) {
  const isOwn = await target.isOwn();
  const own = [];
  for (let page = 1; page <= maxPages; page += 1) {
    const comments = await call('GET', `${target.list}?per_page=100&page=${page}`, target.headers);
    if (!Array.isArray(comments)) throw new Error('the list of comments is no list');
    own.push(
      ...comments.filter(
        (comment) => typeof comment.body === 'string' && comment.body.startsWith(marker) && isOwn(comment),
      ),
    );
    if (comments.length < 100) break;
  }
  const [first, ...others] = own.sort((a, b) => a.id - b.id);
  if (first === undefined) await call('POST', target.list, target.headers, { body: text });
  else if (first.body !== text) await call(target.change, target.one(first.id), target.headers, { body: text });
  for (const { id } of others) await call('DELETE', target.one(id), target.headers);
}

async function call(method, url, headers, json) {
  const sent = json === undefined ? {} : { body: JSON.stringify(json) };
  for (let attempt = 1; ; attempt += 1) {
    const init = {
      method,
      headers: { ...headers, 'content-type': 'application/json', 'user-agent': 'gantry' },
      redirect: 'error',
      signal: AbortSignal.timeout(30_000),
      ...sent,
    };
    const response = await fetch(url, init).catch((error) => ({
      ok: false,
      status: 0,
      text: async () => String(error.cause?.message ?? error.message),
    }));
    const text = await response.text();
    if (response.ok) return text === '' ? undefined : JSON.parse(text);
    // A comment that was not confirmed may exist: it is found and joined at the next run.
    const isFinal = response.status !== 0 && response.status !== 429 && response.status < 500;
    if (isFinal || attempt === 4)
      throw new Error(`${method} ${new URL(url).pathname} ended with ${response.status}: ${text.slice(0, 200)}`);
    await new Promise((resolve) => setTimeout(resolve, Number(process.env.RETRY_PAUSE_MS ?? 1000) * 2 ** attempt));
  }
}
