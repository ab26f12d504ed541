// The members of one entry of `notifications` in gantry.yaml. Paths of files are relative to that file.
import { Type, type Static } from 'typebox';
import { durationPattern } from '../../core/text/durations.ts';
import { ObjectName } from '../sources/source-schema.ts';

const closed = { additionalProperties: false } as const;
const text = (description: string) => Type.String({ minLength: 1, description });
const secretUrl = {
  url: Type.Optional(text('http or https URL.')),
  urlFile: Type.Optional(text('File with the URL, when the URL itself is a secret.')),
};

export const noticeKinds = ['failed', 'synced', 'drifted', 'healed', 'approval'] as const;
export type NoticeKind = (typeof noticeKinds)[number];

export const WebhookTarget = Type.Object(
  {
    ...secretUrl,
    secretFile: Type.Optional(text('Secret of the signature in X-Gantry-Signature-256 (HMAC, SHA-256).')),
    caFile: Type.Optional(text('Certificates of authorities, PEM.')),
  },
  closed,
);

export const SlackTarget = Type.Object(
  { ...secretUrl, channel: Type.Optional(text('Instead of the channel of the hook.')) },
  { ...closed, description: 'Incoming hooks of Slack, Mattermost, Rocket.Chat and others.' },
);

export const MatrixTarget = Type.Object(
  {
    homeserver: text('https URL of the server.'),
    room: text('Room id, such as !abc:example.org.'),
    tokenFile: text('File with the access token.'),
  },
  closed,
);

export const CommitStatusTarget = Type.Object(
  {
    provider: Type.Union([Type.Literal('github'), Type.Literal('gitlab'), Type.Literal('gitea')]),
    repository: text('OWNER/NAME; GitLab also takes the number of a project.'),
    tokenFile: text('File with an access token that may write commit statuses.'),
    api: Type.Optional(
      text('URL of the API. Default: https://api.github.com, https://gitlab.com/api/v4; needed for Gitea.'),
    ),
    context: Type.Optional(text('Name of the status. Default: gantry/CONTROLLER/SET.')),
  },
  closed,
);

const address = Type.String({ pattern: '^[^\\s<>@,;:"\\p{Cc}]{1,64}@[A-Za-z0-9.-]{1,190}$' });

export const EmailTarget = Type.Object(
  {
    smtp: Type.String({
      pattern: '^smtps?://[^@/]+/?$',
      description:
        'smtps://HOST[:465], or smtp://HOST[:587] with STARTTLS, which only a server on this machine may lack.',
    }),
    from: address,
    to: Type.Array(address, { minItems: 1, maxItems: 50 }),
    username: Type.Optional(text('Needs passwordFile.')),
    passwordFile: Type.Optional(text('File with the password.')),
    caFile: Type.Optional(text('Certificates of authorities, PEM.')),
  },
  closed,
);

export const TemplateSchema = Type.Object(
  {
    title: Type.Optional(text('Default: $CONTROLLER: $SET $STATE')),
    text: Type.Optional(text('Default: the message, hosts, revision and objects.')),
  },
  {
    ...closed,
    description:
      'Message texts with $CONTROLLER, $SET, $KIND, $STATE (a phrase), $MESSAGE, $HOSTS, $REVISION, $OBJECTS and $LINK. Not for commit statuses and webhooks.',
  },
);

/** Exactly one of webhook, slack, matrix, commitStatus and email. */
export const NotificationEntry = Type.Object(
  {
    name: ObjectName,
    webhook: Type.Optional(WebhookTarget),
    slack: Type.Optional(SlackTarget),
    matrix: Type.Optional(MatrixTarget),
    commitStatus: Type.Optional(CommitStatusTarget),
    email: Type.Optional(EmailTarget),
    sets: Type.Optional(
      Type.Array(Type.String({ minLength: 1 }), {
        minItems: 1,
        description: 'Sets that it reports on, such as web-*, in addition to sets that name it in notify.',
      }),
    ),
    repeat: Type.Optional(
      Type.Union([Type.String({ pattern: durationPattern }), Type.Number({ minimum: 0 }), Type.Literal('never')], {
        description:
          'When the same news of a set is sent again: a duration, or never: once until it changes. Default 10m.',
      }),
    ),
    template: Type.Optional(TemplateSchema),
    on: Type.Optional(
      Type.Array(
        Type.Union([
          Type.Literal('failed'),
          Type.Literal('synced'),
          Type.Literal('drifted'),
          Type.Literal('healed'),
          Type.Literal('approval'),
        ]),
        { minItems: 1, description: 'Kinds of reports. approval: a plan waits for one. Default: all.' },
      ),
    ),
  },
  closed,
);

export type EmailTarget = Static<typeof EmailTarget>;
export type Template = Static<typeof TemplateSchema>;
export type NotificationEntry = Static<typeof NotificationEntry>;
export type WebhookTarget = Static<typeof WebhookTarget>;
export type SlackTarget = Static<typeof SlackTarget>;
export type MatrixTarget = Static<typeof MatrixTarget>;
export type CommitStatusTarget = Static<typeof CommitStatusTarget>;
