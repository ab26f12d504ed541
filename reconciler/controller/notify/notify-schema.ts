// The members of one entry of `notifications` in gantry.yaml. Paths of files are relative to that file.
import { Type, type Static } from 'typebox';
import { caFile, gitHosts, object, oneOf, optional, text, texts } from '../contract/words.ts';
import { durationPattern } from '../../../server/api/text/durations.ts';
import { ObjectName } from '../sources/source-schema.ts';

const secretUrl = {
  url: optional(text('http or https URL.')),
  urlFile: optional(text('File with the URL, when the URL itself is a secret.')),
};

export const noticeKinds = ['failed', 'synced', 'drifted', 'healed', 'approval'] as const;
export type NoticeKind = (typeof noticeKinds)[number];

export const WebhookTarget = object({
  ...secretUrl,
  secretFile: optional(text('Secret of the signature in X-Gantry-Signature-256 (HMAC, SHA-256).')),
  caFile: caFile(),
});

export const SlackTarget = object(
  { ...secretUrl, channel: optional(text('Instead of the channel of the hook.')) },
  'Incoming hooks of Slack, Mattermost, Rocket.Chat and others.',
);

export const MatrixTarget = object({
  homeserver: text('https URL of the server.'),
  room: text('Room id, such as !abc:example.org.'),
  tokenFile: text('File with the access token.'),
});

export const CommitStatusTarget = object({
  provider: oneOf(gitHosts),
  repository: text('OWNER/NAME; GitLab also takes the number of a project.'),
  tokenFile: text('File with an access token that may write commit statuses.'),
  api: optional(text('URL of the API. Default: https://api.github.com, https://gitlab.com/api/v4; needed for Gitea.')),
  context: optional(text('Name of the status. Default: gantry/CONTROLLER/SET.')),
});

const address = Type.String({ pattern: '^[^\\s<>@,;:"\\p{Cc}]{1,64}@[A-Za-z0-9.-]{1,190}$' });

export const EmailTarget = object({
  smtp: Type.String({
    pattern: '^smtps?://[^@/]+/?$',
    description:
      'smtps://HOST[:465], or smtp://HOST[:587] with STARTTLS, which only a server on this machine may lack.',
  }),
  from: address,
  to: Type.Array(address, { minItems: 1, maxItems: 50 }),
  username: optional(text('Needs passwordFile.')),
  passwordFile: optional(text('File with the password.')),
  caFile: caFile(),
});

export const TemplateSchema = object(
  {
    title: optional(text('Default: $CONTROLLER: $SET $STATE')),
    text: optional(text('Default: the message, hosts, revision and objects.')),
  },
  'Message texts with $CONTROLLER, $SET, $KIND, $STATE (a phrase), $MESSAGE, $HOSTS, $REVISION, $OBJECTS and $LINK. Not for commit statuses and webhooks.',
);

/** Exactly one of webhook, slack, matrix, commitStatus and email. */
export const NotificationEntry = object({
  name: ObjectName,
  webhook: optional(WebhookTarget),
  slack: optional(SlackTarget),
  matrix: optional(MatrixTarget),
  commitStatus: optional(CommitStatusTarget),
  email: optional(EmailTarget),
  sets: optional(texts('Sets that it reports on, such as web-*, in addition to sets that name it in notify.')),
  repeat: optional(
    Type.Union([Type.String({ pattern: durationPattern }), Type.Number({ minimum: 0 }), Type.Literal('never')]),
    'When the same news of a set is sent again: a duration, or never: once until it changes. Default 10m.',
  ),
  template: optional(TemplateSchema),
  on: optional(
    Type.Array(oneOf(noticeKinds), { minItems: 1 }),
    'Kinds of reports. approval: a plan waits for one. Default: all.',
  ),
});

export type EmailTarget = Static<typeof EmailTarget>;
export type Template = Static<typeof TemplateSchema>;
export type NotificationEntry = Static<typeof NotificationEntry>;
export type WebhookTarget = Static<typeof WebhookTarget>;
export type SlackTarget = Static<typeof SlackTarget>;
export type MatrixTarget = Static<typeof MatrixTarget>;
export type CommitStatusTarget = Static<typeof CommitStatusTarget>;
