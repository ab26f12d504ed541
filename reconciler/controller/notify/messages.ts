// Renders a notice as text, and as the body for each receiver. Pure.
import { withoutSecrets } from '../../../server/lib/shared/without-secrets.ts';
import type { Notice } from './notice.ts';
import { asText } from '../../core/documents/json-values.ts';
import { expandVariables } from '../../manifest/variables/variables.ts';
import type { CommitStatusTarget, NoticeKind, Template } from './notify-schema.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

const words: Readonly<Record<NoticeKind, string>> = {
  failed: 'failed',
  synced: 'is as declared',
  drifted: 'has drifted',
  healed: 'was repaired',
  approval: 'waits for an approval',
};

const maxObjects = 10;
const maxMessage = 1000;

// eslint-disable-next-line no-control-regex
const controls = /[\u0000-\u001f\u007f\u200e\u200f\u202a-\u202e\u2066-\u2069]+/g;

/** Keeps foreign text from breaking lines, steering a terminal, or growing without limit. */
const plain = (text: string): string => withoutSecrets(text).replace(controls, ' ').slice(0, maxMessage);

export const titleOf = (notice: Notice): string =>
  `${plain(notice.controller)}: ${plain(notice.set)} ${words[notice.kind]}`;

/** Lines below the title. */
export function linesOf(notice: Notice): readonly string[] {
  const { hosts, revision, changes, objects = [] } = notice;
  const named = objects.slice(0, maxObjects).map(({ host, address, paths = [] }) => {
    const listed = paths.slice(0, 5).map(plain).join(', ');
    return `- ${plain(host)} ${plain(address)}${listed === '' ? '' : ` (${listed})`}`;
  });
  return [
    plain(notice.message),
    ...(hosts.length === 0
      ? []
      : [
          `Hosts: ${hosts.slice(0, maxObjects).map(plain).join(', ')}${hosts.length > maxObjects ? `, and ${hosts.length - maxObjects} more` : ''}`,
        ]),
    ...(revision === undefined ? [] : [`Revision: ${plain(revision)}`]),
    ...(changes === undefined
      ? []
      : [`Changes: ${changes.create} created, ${changes.update} updated, ${changes.delete} deleted`]),
    ...named,
    ...(objects.length > maxObjects ? [`- and ${objects.length - maxObjects} more`] : []),
    ...(notice.link === undefined ? [] : [plain(notice.link)]),
  ];
}

/** The visible text, from the template if the entry has one. */
export interface Shown {
  readonly title: string;
  readonly lines: readonly string[];
}

export function shownOf(notice: Notice, { title, text }: Template = {}): Shown {
  const variables = new Map([
    ['CONTROLLER', plain(notice.controller)],
    ['SET', plain(notice.set)],
    ['KIND', notice.kind],
    ['STATE', words[notice.kind]],
    ['MESSAGE', plain(notice.message)],
    ['HOSTS', notice.hosts.slice(0, maxObjects).map(plain).join(', ')],
    ['REVISION', plain(notice.revision ?? '')],
    [
      'OBJECTS',
      (notice.objects ?? [])
        .slice(0, maxObjects)
        .map(({ host, address }) => plain(`${host} ${address}`))
        .join(', '),
    ],
    ['LINK', plain(notice.link ?? '')],
  ]);
  const filled = (template: string): string => asText(expandVariables(template, variables).value);
  return {
    title: title === undefined ? titleOf(notice) : plain(filled(title)),
    lines: text === undefined ? linesOf(notice) : filled(text).split('\n').slice(0, maxLines).map(plain),
  };
}

const maxLines = 100;

export const textOf = ({ title, lines }: Shown): string => [title, ...lines].join('\n');

/** The notice itself, with bounded lists and plain texts. */
export function webhookBody(notice: Notice): string {
  const { objects, hosts, revision, link, changes, kind, at } = notice;
  return JSON.stringify({
    type: kind,
    at,
    controller: plain(notice.controller),
    set: plain(notice.set),
    hosts: hosts.slice(0, 1000).map(plain),
    message: plain(notice.message),
    ...(revision === undefined ? {} : { revision: plain(revision) }),
    ...withoutUndefined({ changes }),
    ...(objects === undefined
      ? {}
      : {
          objects: objects.slice(0, 1000).map(({ host, address, paths }) => ({
            host: plain(host),
            address: plain(address),
            ...(paths === undefined ? {} : { paths: paths.slice(0, 100).map(plain) }),
          })),
        }),
    ...(link === undefined ? {} : { link: plain(link) }),
  });
}

/** Escapes <, > and &, so that a name cannot become a link or mention a channel. */
const slackText = (text: string): string =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

const colours: Readonly<Record<NoticeKind, string>> = {
  failed: '#c62828',
  synced: '#2e7d32',
  drifted: '#ef6c00',
  healed: '#1565c0',
  approval: '#6a1b9a',
};

export function slackBody(notice: Notice, channel: string | undefined, template?: Template): string {
  const { title, lines } = shownOf(notice, template);
  const text = slackText(lines.join('\n'));
  return JSON.stringify({
    ...withoutUndefined({ channel }),
    text: slackText(title),
    attachments: [{ color: colours[notice.kind], text, fallback: slackText(title), mrkdwn_in: [] }],
  });
}

const html = (text: string): string => slackText(text).replaceAll('"', '&quot;').replaceAll("'", '&#39;');

export function matrixBody(notice: Notice, template?: Template): string {
  const shown = shownOf(notice, template);
  return JSON.stringify({
    msgtype: notice.kind !== 'synced' && notice.kind !== 'healed' ? 'm.text' : 'm.notice',
    body: textOf(shown),
    format: 'org.matrix.custom.html',
    formatted_body: `<strong>${html(shown.title)}</strong><br>${shown.lines.map(html).join('<br>')}`,
  });
}

export interface StatusCall {
  /** Below the URL of the API. */
  readonly path: string;
  readonly body: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Undefined if the revision is not a commit. */
export function commitStatusCall(target: CommitStatusTarget, notice: Notice, token: string): StatusCall | undefined {
  const { revision } = notice;
  if (revision === undefined || !/^([0-9a-f]{40}|[0-9a-f]{64})$/.test(revision)) return undefined;
  const isFailed = notice.kind === 'failed';
  const isWaiting = notice.kind === 'approval';
  const description = `${words[notice.kind]}: ${plain(notice.message)}`;
  const context = target.context ?? `gantry/${notice.controller}/${notice.set}`;
  const link = notice.link === undefined ? {} : { target_url: notice.link };
  const repository = target.repository;
  if (target.provider === 'gitlab') {
    const state = isFailed ? 'failed' : isWaiting ? 'pending' : 'success';
    const body = JSON.stringify({ state, name: context, description: description.slice(0, 255), ...link });
    return {
      path: `/projects/${encodeURIComponent(repository)}/statuses/${revision}`,
      body,
      headers: { 'private-token': token },
    };
  }
  const [owner = '', name = ''] = repository.split('/');
  const isDrift = notice.kind === 'drifted';
  const state = isFailed
    ? 'failure'
    : isWaiting
      ? 'pending'
      : isDrift && target.provider === 'gitea'
        ? 'warning'
        : 'success';
  const body = JSON.stringify({ state, context, description: description.slice(0, 140), ...link });
  const scheme = target.provider === 'gitea' ? 'token' : 'Bearer';
  return {
    path: `/repos/${encodeURIComponent(owner)}/${encodeURIComponent(name)}/statuses/${revision}`,
    body,
    headers: {
      authorization: `${scheme} ${token}`,
      ...(target.provider === 'github'
        ? { accept: 'application/vnd.github+json', 'x-github-api-version': '2022-11-28' }
        : {}),
    },
  };
}
