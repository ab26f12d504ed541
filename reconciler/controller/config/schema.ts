// The schema of gantry.yaml, the config of a controller. read-config.ts checks what a schema cannot say.
import { Type, type Static } from 'typebox';
import { duration as durationText, name, object, oneOf, optional, prune, text } from '../contract/words.ts';
import { GeneratorSchema } from './generator-schema.ts';
import { ApprovalSchema } from '../tenancy/approval-schema.ts';
import { HooksSchema } from './hook-schema.ts';
import { SecretsSchema } from './secrets-schema.ts';
import { NotificationEntry } from '../notify/notify-schema.ts';
import { SourceEntry } from '../sources/source-schema.ts';
import { Right } from '../contract/requests.ts';
import { TenantSchema } from '../tenancy/tenant.ts';

const duration = (description: string) => durationText(`${description}: 90s, 5m, 1h30m, 2d; a number is seconds.`);
const names = (description: string) => Type.Array(Type.String(), { description });

const GrantSchema = object({
  users: optional(names('Names of tokens.')),
  groups: optional(names('Values of oidc.roles.claim.')),
  sets: optional(names('Its sets: names, or web-* for several; default: all. Not for consoles.')),
  hosts: optional(names('Its hosts: names, web* or labels such as role=web; default: all.')),
  rights: Type.Array(Right, { minItems: 1 }),
});

const AuthSchema = object({
  grants: optional(Type.Array(GrantSchema), 'Single rights for users whose role is view.'),
  tokens: optional(
    Type.Array(
      object({
        name: text('Name of the user in the history.'),
        mails: optional(names('Mail addresses of the user in commits: the author of a commit cannot approve it.')),
        role: oneOf(['view', 'operate']),
        file: text('File that holds the token, relative to gantry.yaml.'),
      }),
    ),
    'Tokens of users and programs.',
  ),
  oidc: optional(
    object({
      issuer: text('URL of the OpenID Connect issuer.'),
      clientId: text('Id of the client at the issuer.'),
      clientSecretFile: optional(Type.String(), 'File that holds the secret of the client.'),
      roles: object({
        claim: text('Claim whose value, or one of whose values, gives the role.'),
        operate: optional(names('Values that give the role operate.')),
        view: optional(names('Values that give the role view.')),
      }),
    }),
  ),
});

const ControllerPart = object({
  name: optional(name('Name of the controller: two processes with the same name never work at the same time.')),
  stateDir: optional(Type.String(), 'Directory of its state, relative to gantry.yaml; default ./state.'),
  stateKey: optional(
    Type.String(),
    'File with the key of the digests in its state, made at the first start; outside of stateDir. Default: stateDir with .key at its end.',
  ),
  listen: optional(Type.String(), 'Address of the HTTP API, such as 127.0.0.1:8440; without it there is no API.'),
  url: optional(Type.String(), 'Where browsers reach it, when that is not the listening address: behind a proxy.'),
  tls: optional(object({ cert: text('PEM file.'), key: text('PEM file.') })),
  auth: optional(AuthSchema),
  anonymous: optional(Type.Literal('view'), 'Callers without a login may look.'),
  trustedProxies: optional(
    names(
      'Addresses or networks of proxies, such as 10.0.0.2 or 10.0.0.0/24, whose header X-Forwarded-For names the client.',
    ),
  ),
  console: optional(Type.Boolean(), 'Users with the role operate may open consoles of containers.'),
  parallelism: optional(Type.Integer({ minimum: 1, maximum: 64 }), 'Steps at once on one host; default 4.'),
});

const TracingSchema = object({
  endpoint: optional(
    text(
      'Base URL of an OpenTelemetry collector (OTLP over HTTP), such as http://127.0.0.1:4318; default: as OTEL_EXPORTER_OTLP_ENDPOINT has it.',
    ),
  ),
  headers: optional(
    Type.Record(Type.String(), Type.String()),
    'Headers of its requests, in addition to OTEL_EXPORTER_OTLP_HEADERS.',
  ),
  tokenFile: optional(
    Type.String(),
    'File with a token that is sent as Authorization: Bearer, relative to gantry.yaml.',
  ),
  sampleRatio: optional(
    Type.Number({ minimum: 0, maximum: 1 }),
    'Share of runs that are traced, from 0 to 1; default: as OTEL_TRACES_SAMPLER has it, else 1.',
  ),
});

const WindowSchema = object({
  cron: text('Start of the window: five cron fields, or @daily and the like, in the time zone.'),
  duration: duration('Length of the window'),
  timezone: optional(Type.String(), 'Name of a time zone, such as Europe/Berlin; default UTC.'),
});

const WindowsSchema = object({
  allow: optional(Type.Array(WindowSchema), 'Changes are made only within one of these.'),
  deny: optional(Type.Array(WindowSchema), 'No changes are made within any of these.'),
});

const Mode = oneOf(['heal', 'report', 'ignore']);

export const SetSchema = object({
  name: name('Name of the set: it owns the objects that it makes.'),
  source: name('Name of its source.'),
  path: optional(Type.String(), 'Directory or file within the source.'),
  project: optional(
    Type.Union([
      Type.String({ minLength: 1 }),
      object({
        name: Type.String({ minLength: 1 }),
        config: optional(Type.Record(Type.String(), Type.Union([Type.String(), Type.Number(), Type.Boolean()]))),
      }),
    ]),
    'Project of its objects that name none. As a map {name, config} the set makes the project too.',
  ),
  hosts: optional(
    Type.Union([Type.String(), Type.Array(Type.String())]),
    'Its hosts: names, web*, @group or labels such as role=web; default: all.',
  ),
  variables: optional(Type.Record(Type.String(), Type.String()), 'Variables of its manifests.'),
  environment: optional(Type.String(), 'Environment of its manifests, as with --env.'),
  secrets: optional(SecretsSchema, 'Where the secrets of its manifests come from.'),
  dependsOn: optional(names('Sets that must be synced before this one changes anything.')),
  interval: optional(duration('Time between two full comparisons of a host; default 5m')),
  mode: optional(
    Mode,
    'heal: repair drift (default). report: only report it. ignore: neither. New revisions are applied in every mode.',
  ),
  rules: optional(
    Type.Array(
      object({
        address: optional(Type.String(), 'KIND/NAME, with * for any text.'),
        path: optional(Type.String(), 'Path pattern, such as config.limits.* or devices.eth0.*'),
        hosts: optional(Type.String(), 'As hosts of the set.'),
        action: Mode,
      }),
    ),
    'Exceptions from mode for objects, paths or hosts; the last one that fits holds.',
  ),
  prune: prune(
    'Most objects deleted at once: a number or a share.',
    'Objects that the set owns and no document declares are deleted. Without it they stay.',
  ),
  allow: optional(
    object({
      restart: optional(Type.Boolean()),
      recreate: optional(Type.Boolean()),
      conflicts: optional(Type.Boolean(), 'Takes over keys that another set owns.'),
      partial: optional(Type.Boolean(), 'Applies the rest of a plan when a part is refused; default true.'),
    }),
  ),
  approval: optional(
    ApprovalSchema,
    'Plans that a second person must approve. With a tenant that asks too, the stricter holds.',
  ),
  retry: optional(
    object({
      first: optional(duration('First pause; default 5s')),
      longest: optional(duration('Longest pause; default 5m')),
    }),
  ),
  timeout: optional(duration('Longest time of one run on a host; default 30m')),
  health: optional(
    object({
      wait: optional(Type.Boolean(), 'false: the waits of manage.wait are skipped.'),
      timeout: optional(duration('Longest time for the waits of one run')),
    }),
  ),
  windows: optional(
    object({
      allow: optional(Type.Array(WindowSchema)),
      deny: optional(Type.Array(WindowSchema)),
      disruptive: optional(
        WindowsSchema,
        'The same for changes that restart or recreate a container or prune objects.',
      ),
    }),
  ),
  rollout: optional(
    object({
      batches: optional(
        Type.Union([Type.Integer({ minimum: 1 }), Type.String({ pattern: '^[0-9]{1,3}%$' })]),
        'Hosts at once: a number or a share; default: all.',
      ),
      canary: optional(Type.Integer({ minimum: 0 }), 'Number of hosts that go first.'),
      stopAfter: optional(Type.Integer({ minimum: 1 }), 'Failed hosts after which no further batch begins; default 1.'),
      checks: optional(
        Type.Array(
          object({
            name: name('Name of the check.'),
            url: Type.String({
              pattern: '^https?://[^@]+$',
              description: 'URL of Prometheus, such as http://127.0.0.1:9090.',
            }),
            query: text('Query; $SET, $REVISION and $HOSTS (h1|h2, those that have the revision) are put in.'),
            max: optional(Type.Number(), 'No value may be greater.'),
            min: optional(Type.Number(), 'No value may be smaller.'),
            for: optional(duration('How long it must hold after each batch; default 5m')),
            interval: optional(duration('Time between two queries; default 30s')),
            failures: optional(
              Type.Integer({ minimum: 1 }),
              'Failed queries in a row at which the rollout stops; default 1. No value and no answer count as failed.',
            ),
            tokenFile: optional(Type.String(), 'File with a token that is sent as Authorization: Bearer.'),
            caFile: optional(Type.String(), 'Certificates of authorities, PEM.'),
          }),
        ),
        'Metrics that are watched after each batch: the next one begins when they hold.',
      ),
      rollback: optional(
        Type.Boolean(),
        'When it stops, hosts that have the new revision go back to the last good one.',
      ),
    }),
  ),
  hooks: optional(HooksSchema, 'Commands in containers around a sync.'),
  keepRevisions: optional(
    Type.Integer({ minimum: 1, maximum: 1000 }),
    'Earlier revisions that are kept, and that a rollback can go back to; default 20.',
  ),
  images: optional(
    object({
      interval: optional(duration('Time between two looks for newer images; default 1h')),
      branch: optional(Type.String({ minLength: 1 }), 'Another branch of the source to push to, for a pull request.'),
      author: optional(
        object({
          name: Type.String({ pattern: '^[^<>\\p{Cc}]{1,100}$' }),
          email: Type.String({ pattern: '^[^<>\\s\\p{Cc}]{1,100}$' }),
        }),
      ),
      message: optional(text('First line of the commit message.')),
    }),
    'Newer images are pinned in gantry.lock, as gantry update does, and pushed to the git source.',
  ),
  notify: optional(names('Notifications of this set.')),
  suspended: optional(Type.String(), 'The reason why the set does nothing for now.'),
});

export const ControllerFile = object({
  controller: optional(ControllerPart),
  hosts: object({ file: text('The hosts file, relative to gantry.yaml.') }),
  sources: Type.Array(SourceEntry, { minItems: 1 }),
  sets: optional(Type.Array(SetSchema)),
  generators: optional(Type.Array(GeneratorSchema), 'Sets made from a list, from hosts, directories or pull requests.'),
  tenants: optional(Type.Array(TenantSchema), 'What sources may deploy; with tenants every set belongs to one.'),
  notifications: optional(Type.Array(NotificationEntry)),
  tracing: optional(TracingSchema, 'Where traces of runs are sent.'),
});

export type ControllerFile = Static<typeof ControllerFile>;
export type { SourceEntry as SourceConfig } from '../sources/source-schema.ts';
export type { NotificationEntry as NotificationConfig } from '../notify/notify-schema.ts';
export type WrittenSet = Static<typeof SetSchema>;
export type WrittenWindow = Static<typeof WindowSchema>;
export type DriftAction = Static<typeof Mode>;
export type TracingConfig = Static<typeof TracingSchema>;
export type AuthConfig = Static<typeof AuthSchema>;
