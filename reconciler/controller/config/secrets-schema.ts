// What gantry.yaml says of the secrets of a set: keys that decrypt what its source has, and a Vault with one way to log in.
import type { Static } from 'typebox';
import { caFile, duration, object, optional, text } from '../contract/words.ts';

const mount = (usual: string) => optional(text(`Path of the login method; default ${usual}.`));

const VaultSchema = object({
  address: text('URL of the server, such as https://vault.example.org:8200.'),
  namespace: optional(text('Namespace of the login and of the secrets.')),
  caFile: caFile('; default: those of Node'),
  interval: optional(duration('Time between two looks for rotated secrets; default 5m.')),
  tokenFile: optional(text('File with a token, which is renewed where it can be. One of four ways to log in.')),
  appRole: optional(
    object({
      roleId: text('Identifier of the role.'),
      secretIdFile: text('File with its secret id.'),
      mount: mount('approle'),
    }),
  ),
  jwt: optional(
    object({
      role: text('Name of the role.'),
      file: text('File with the JWT, read for each login.'),
      mount: mount('jwt'),
    }),
  ),
  kubernetes: optional(
    object({
      role: text('Name of the role.'),
      file: optional(text('File with the token of the pod; default: where Kubernetes puts it.')),
      mount: mount('kubernetes'),
    }),
  ),
});

export const SecretsSchema = object({
  ageKeyFile: optional(text('File with keys of age, as age-keygen writes it, for what sops encrypted in its source.')),
  gpgKeyFile: optional(
    text('File with a secret key of GPG without a passphrase, as gpg --export-secret-keys --armor writes it.'),
  ),
  vault: optional(VaultSchema, 'The server of what its manifests take from_vault.'),
});

export type WrittenSecrets = Static<typeof SecretsSchema>;
export type WrittenVault = Static<typeof VaultSchema>;
