// What gantry.yaml says of the secrets of a set: keys that decrypt what its source has, and a Vault with one way to log in.
import { Type, type Static, type TProperties } from 'typebox';

const object = <P extends TProperties>(properties: P) => Type.Object(properties, { additionalProperties: false });
const text = (description: string) => Type.String({ minLength: 1, description });
const mount = (usual: string) => Type.Optional(text(`Path of the login method; default ${usual}.`));

const VaultSchema = object({
  address: text('URL of the server, such as https://vault.example.org:8200.'),
  namespace: Type.Optional(text('Namespace of the login and of the secrets.')),
  caFile: Type.Optional(text('Certificates of authorities, PEM; default: those of Node.')),
  interval: Type.Optional(
    Type.Union([Type.String(), Type.Number()], {
      description: 'Time between two looks for rotated secrets; default 5m.',
    }),
  ),
  tokenFile: Type.Optional(text('File with a token, which is renewed where it can be. One of four ways to log in.')),
  appRole: Type.Optional(
    object({
      roleId: text('Identifier of the role.'),
      secretIdFile: text('File with its secret id.'),
      mount: mount('approle'),
    }),
  ),
  jwt: Type.Optional(
    object({
      role: text('Name of the role.'),
      file: text('File with the JWT, read for each login.'),
      mount: mount('jwt'),
    }),
  ),
  kubernetes: Type.Optional(
    object({
      role: text('Name of the role.'),
      file: Type.Optional(text('File with the token of the pod; default: where Kubernetes puts it.')),
      mount: mount('kubernetes'),
    }),
  ),
});

export const SecretsSchema = object({
  ageKeyFile: Type.Optional(
    text('File with keys of age, as age-keygen writes it, for what sops encrypted in its source.'),
  ),
  gpgKeyFile: Type.Optional(
    text('File with a secret key of GPG without a passphrase, as gpg --export-secret-keys --armor writes it.'),
  ),
  vault: Type.Optional({ ...VaultSchema, description: 'The server of what its manifests take from_vault.' }),
});

export type WrittenSecrets = Static<typeof SecretsSchema>;
export type WrittenVault = Static<typeof VaultSchema>;
