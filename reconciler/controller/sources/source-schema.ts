// The members of one entry of `sources` in gantry.yaml. Paths of files are relative to that file.
import { Type, type Static } from 'typebox';
import { caFile, gitHosts, object, oneOf, optional, text } from '../contract/words.ts';
import { durationPattern } from '../../../server/api/text/durations.ts';

export const Duration = Type.Union([Type.String({ pattern: durationPattern }), Type.Number({ minimum: 0 })]);
export const ObjectName = Type.String({ pattern: '^[A-Za-z0-9](?:[-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$' });
const Digest = Type.String({ pattern: '^sha256:[0-9a-f]{64}$' });
const Filled = Type.String({ minLength: 1 });

const interval = optional(Duration);
const limits = optional(
  object(
    {
      size: optional(Type.Integer({ minimum: 1 }), 'Bytes of what is fetched and of the checkout.'),
      files: optional(Type.Integer({ minimum: 1 }), 'Files of the checkout.'),
      timeout: optional(Duration),
    },
    'Default: 256 MiB, 20,000 files, 2 minutes for each action.',
  ),
);

const Credentials = object({
  username: optional(Type.String()),
  passwordFile: optional(text('File with a password or token, for https.')),
  sshKeyFile: optional(text('Private key without a passphrase, for ssh; mode 0600.')),
  knownHostsFile: optional(text('Known hosts, for ssh. Other hosts are refused.')),
  caFile: caFile(', for https'),
});

const path = optional(Type.String(), 'Folder below which the manifests lie.');

export const GitSource = object({
  url: text('https://, http://, ssh:// or file:// URL, or user@host:path.'),
  branch: optional(Filled),
  tag: optional(Filled),
  semver: optional(text('Range; the greatest version among the tags is used.')),
  path,
  history: optional(
    oneOf(['any', 'linear']),
    'linear: a branch that no longer holds the revision that was used before is refused. Default any.',
  ),
  verify: optional(
    object({
      gpg: optional(Type.Array(text('Public keys, as gpg --export writes them.'), { minItems: 1 })),
      ssh: optional(Type.Array(text('Allowed signers, as ssh-keygen reads them.'), { minItems: 1 })),
    }),
    'Only commits that one of these keys signed are used.',
  ),
  credentials: optional(Credentials),
  signingKeyFile: optional(text('SSH key that signs commits which the controller pushes.')),
  limits,
  interval,
});

export const DirectorySource = object({ path: Filled, limits, interval });

export const ArchiveSource = object({
  url: text('https://, http:// or file:// URL of a tar, tar.gz or tgz.'),
  digest: optional(Digest),
  path,
  credentials: optional(Credentials),
  limits,
  interval,
});

export const OciSource = object({
  ref: text('REGISTRY/NAME:TAG or REGISTRY/NAME@sha256:...'),
  digest: optional(Digest, 'Digest of the manifest.'),
  insecure: optional(Type.Boolean(), 'http instead of https.'),
  verify: optional(
    object({
      cosign: Type.Array(text('Public keys, PEM, as cosign generate-key-pair writes them.'), { minItems: 1 }),
    }),
    'Only artefacts that one of these keys signed are used.',
  ),
  path,
  credentials: optional(Credentials),
  limits,
  interval,
});

export const BucketSource = object({
  endpoint: Type.String({
    pattern: '^https?://[^@/]+/?$',
    description: 'URL of a server that speaks S3, such as https://s3.eu-central-1.amazonaws.com.',
  }),
  bucket: Type.String({ pattern: '^[a-z0-9][-a-z0-9.]{1,61}[a-z0-9]$' }),
  region: optional(Type.String({ pattern: '^[-a-z0-9]{1,40}$' }), 'Default us-east-1.'),
  path,
  credentials: optional(
    object({
      username: optional(Type.String({ pattern: '^[!-~]{1,200}$' }), 'Access key.'),
      passwordFile: optional(text('File with the secret key.')),
      caFile: caFile(', for https'),
    }),
    'Without username and passwordFile the bucket is read anonymously.',
  ),
  limits,
  interval,
});

export const WebhookSettings = object({
  provider: oneOf([...gitHosts, 'hmac']),
  secretFile: text('File with the secret that the sender signs with.'),
});

/** Exactly one of git, directory, archive, oci and bucket. */
export const SourceEntry = object({
  name: ObjectName,
  git: optional(GitSource),
  directory: optional(DirectorySource),
  archive: optional(ArchiveSource),
  oci: optional(OciSource),
  bucket: optional(BucketSource),
  webhook: optional(WebhookSettings),
});

export type SourceEntry = Static<typeof SourceEntry>;
export type GitSettings = Static<typeof GitSource>;
export type DirectorySettings = Static<typeof DirectorySource>;
export type ArchiveSettings = Static<typeof ArchiveSource>;
export type BucketSettings = Static<typeof BucketSource>;
export type OciSettings = Static<typeof OciSource>;
export type Credentials = Static<typeof Credentials>;
export type SourceLimits = NonNullable<GitSettings['limits']>;
export type WebhookSettings = Static<typeof WebhookSettings>;
