// What a tenant may deploy: the type for the rules, and the schema in gantry.yaml.
import { Type, type Static } from 'typebox';
import type { KindName } from '../../../server/api/kinds.ts';
import { object, oneOf, optional, texts } from '../contract/words.ts';
import { ApprovalSchema } from './approval-schema.ts';
import type { HostPattern } from '../../core/documents/host-pattern.ts';

const some = (description: string) => optional(texts(description));

export const TenantSchema = object({
  name: Type.String({ pattern: '^[a-z0-9](?:[-a-z0-9_]{0,38}[a-z0-9])?$', description: 'Name of the tenant.' }),
  sources: Type.Array(
    object({
      name: Type.String({ description: 'Name of a source.' }),
      path: optional(Type.String(), 'Sets of this path of it and below; default: all of it.'),
      signed: optional(Type.Boolean(), 'The source must verify signatures: it needs `verify` with the keys.'),
    }),
    { minItems: 1, description: 'Where its sets come from. A set belongs to exactly one tenant.' },
  ),
  trusted: optional(Type.Boolean(), 'Its sets may do everything: it has none of the rules below.'),
  approval: optional(ApprovalSchema, 'Plans of its sets that a second person must approve; also of a trusted tenant.'),
  hosts: some('Required unless trusted. Hosts that it may use: names, web*, @group or labels such as role=web.'),
  // The other kinds affect the host and all of its projects.
  kinds: optional(
    Type.Array(oneOf(['container', 'profile', 'image', 'image_alias', 'storage_volume', 'network']), { minItems: 1 }),
    'Required unless trusted. Kinds that it may declare.',
  ),
  names: some(
    'Required unless trusted. Names of its objects: shop-*, or for one kind profile/shop-*; of a volume without its pool.',
  ),
  projects: some('Projects of its objects, with stars as in names; default: default.'),
  certificate: optional(
    object({ cert: Type.String({ minLength: 1 }), key: Type.String({ minLength: 1 }) }),
    'PEM files. Its sets connect with this certificate, which each host must restrict to the one project of the tenant.',
  ),
  uses: some('Objects of others that its own may name: network/lxdbr0, profile/default, image_alias/debian-*.'),
  images: some('Servers, as source.server has them, and beginnings of URLs from which images may be fetched.'),
  keys: optional(
    object({ allow: some('Only these paths, such as config.limits.*'), deny: some('Not these paths.') }),
    'Paths below config and devices, and files, exec, snapshots, instance_type.',
  ),
  restrictions: optional(
    Type.Record(Type.String(), Type.String()),
    'As the config of a restricted project: restricted.containers.nesting: allow, and so on.',
  ),
});
export type WrittenTenant = Static<typeof TenantSchema>;

export interface Tenant {
  readonly name: string;
  readonly hosts: readonly HostPattern[];
  readonly kinds: readonly KindName[];
  readonly names: readonly string[];
  readonly projects: readonly string[];
  /** Absolute paths. Its sets connect with this certificate, which is limited to the tenant's project. */
  readonly certificate?: { readonly cert: string; readonly key: string };
  readonly uses: readonly string[];
  readonly images: readonly string[];
  readonly keys: { readonly allow?: readonly string[]; readonly deny?: readonly string[] };
  readonly restrictions: Readonly<Record<string, string>>;
}
