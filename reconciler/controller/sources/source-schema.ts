// The members of one entry of `sources` in gantry.yaml. Paths of files are relative to that file.
import { Type, type Static } from 'typebox';
import { durationPattern } from '../../core/text/durations.ts';

const file = (description: string) => Type.String({ minLength: 1, description });
export const Duration = Type.Union([Type.String({ pattern: durationPattern }), Type.Number({ minimum: 0 })]);
export const ObjectName = Type.String({ pattern: '^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$' });
const closed = { additionalProperties: false } as const;

const interval = Type.Optional(Duration);
const limits = Type.Optional(
  Type.Object(
    {
      size: Type.Optional(Type.Integer({ minimum: 1, description: 'Bytes of what is fetched and of the checkout.' })),
      files: Type.Optional(Type.Integer({ minimum: 1, description: 'Files of the checkout.' })),
      timeout: Type.Optional(Duration),
    },
    { ...closed, description: 'Default: 256 MiB, 20,000 files, 2 minutes for each action.' },
  ),
);

const Credentials = Type.Object(
  {
    username: Type.Optional(Type.String()),
    passwordFile: Type.Optional(file('File with a password or token, for https.')),
    sshKeyFile: Type.Optional(file('Private key without a passphrase, for ssh; mode 0600.')),
    knownHostsFile: Type.Optional(file('Known hosts, for ssh. Other hosts are refused.')),
    caFile: Type.Optional(file('Certificates of authorities, PEM, for https.')),
  },
  closed,
);

const path = Type.Optional(Type.String({ description: 'Folder below which the manifests lie.' }));

export const GitSource = Type.Object(
  {
    url: Type.String({ minLength: 1, description: 'https://, http://, ssh:// or file:// URL, or user@host:path.' }),
    branch: Type.Optional(Type.String({ minLength: 1 })),
    tag: Type.Optional(Type.String({ minLength: 1 })),
    semver: Type.Optional(
      Type.String({ minLength: 1, description: 'Range; the greatest version among the tags is used.' }),
    ),
    path,
    history: Type.Optional(
      Type.Union([Type.Literal('any'), Type.Literal('linear')], {
        description: 'linear: a branch that no longer holds the revision that was used before is refused. Default any.',
      }),
    ),
    verify: Type.Optional(
      Type.Object(
        {
          gpg: Type.Optional(Type.Array(file('Public keys, as gpg --export writes them.'), { minItems: 1 })),
          ssh: Type.Optional(Type.Array(file('Allowed signers, as ssh-keygen reads them.'), { minItems: 1 })),
        },
        { ...closed, description: 'Only commits that one of these keys signed are used.' },
      ),
    ),
    credentials: Type.Optional(Credentials),
    signingKeyFile: Type.Optional(file('SSH key that signs commits which the controller pushes.')),
    limits,
    interval,
  },
  closed,
);

export const DirectorySource = Type.Object({ path: Type.String({ minLength: 1 }), limits, interval }, closed);

export const ArchiveSource = Type.Object(
  {
    url: Type.String({ minLength: 1, description: 'https://, http:// or file:// URL of a tar, tar.gz or tgz.' }),
    digest: Type.Optional(Type.String({ pattern: '^sha256:[0-9a-f]{64}$' })),
    path,
    credentials: Type.Optional(Credentials),
    limits,
    interval,
  },
  closed,
);

export const OciSource = Type.Object(
  {
    ref: Type.String({ minLength: 1, description: 'REGISTRY/NAME:TAG or REGISTRY/NAME@sha256:...' }),
    digest: Type.Optional(Type.String({ pattern: '^sha256:[0-9a-f]{64}$', description: 'Digest of the manifest.' })),
    insecure: Type.Optional(Type.Boolean({ description: 'http instead of https.' })),
    verify: Type.Optional(
      Type.Object(
        { cosign: Type.Array(file('Public keys, PEM, as cosign generate-key-pair writes them.'), { minItems: 1 }) },
        { ...closed, description: 'Only artefacts that one of these keys signed are used.' },
      ),
    ),
    path,
    credentials: Type.Optional(Credentials),
    limits,
    interval,
  },
  closed,
);

export const BucketSource = Type.Object(
  {
    endpoint: Type.String({
      pattern: '^https?://[^@/]+/?$',
      description: 'URL of a server that speaks S3, such as https://s3.eu-central-1.amazonaws.com.',
    }),
    bucket: Type.String({ pattern: '^[a-z0-9][-a-z0-9.]{1,61}[a-z0-9]$' }),
    region: Type.Optional(Type.String({ pattern: '^[-a-z0-9]{1,40}$', description: 'Default us-east-1.' })),
    path,
    credentials: Type.Optional(
      Type.Object(
        {
          username: Type.Optional(Type.String({ pattern: '^[!-~]{1,200}$', description: 'Access key.' })),
          passwordFile: Type.Optional(file('File with the secret key.')),
          caFile: Type.Optional(file('Certificates of authorities, PEM, for https.')),
        },
        { ...closed, description: 'Without username and passwordFile the bucket is read anonymously.' },
      ),
    ),
    limits,
    interval,
  },
  closed,
);

export const WebhookSettings = Type.Object(
  {
    provider: Type.Union([Type.Literal('github'), Type.Literal('gitlab'), Type.Literal('gitea'), Type.Literal('hmac')]),
    secretFile: file('File with the secret that the sender signs with.'),
  },
  closed,
);

/** Exactly one of git, directory, archive, oci and bucket. */
export const SourceEntry = Type.Object(
  {
    name: ObjectName,
    git: Type.Optional(GitSource),
    directory: Type.Optional(DirectorySource),
    archive: Type.Optional(ArchiveSource),
    oci: Type.Optional(OciSource),
    bucket: Type.Optional(BucketSource),
    webhook: Type.Optional(WebhookSettings),
  },
  closed,
);

export type SourceEntry = Static<typeof SourceEntry>;
export type GitSettings = Static<typeof GitSource>;
export type DirectorySettings = Static<typeof DirectorySource>;
export type ArchiveSettings = Static<typeof ArchiveSource>;
export type BucketSettings = Static<typeof BucketSource>;
export type OciSettings = Static<typeof OciSource>;
export type Credentials = Static<typeof Credentials>;
export type SourceLimits = NonNullable<GitSettings['limits']>;
export type WebhookSettings = Static<typeof WebhookSettings>;
