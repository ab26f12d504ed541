// Member-specific keys of pools and networks: which ones a cluster asks of a joining host, and the values that it sends (spec 4.13,
// `member_config`).
import { isMemberKey, type MemberKind } from '../../../api/cluster/cluster-member-keys.ts';
import type { Cluster, MemberConfig } from '../../../api/cluster/cluster.ts';
import { errors } from '../../../api/errors.ts';
import type { Problem } from '../../../api/problem.ts';
import type { ConfigMap } from '../../../api/schema/common-schemas.ts';
import type { Changes, Records } from '../../../records/records.ts';

const entities = {
  'storage-pool': { kind: 'storage_pool', what: 'storage pool', definitions: 'poolDefinitions', own: 'pools' },
  network: { kind: 'network', what: 'network', definitions: 'networkDefinitions', own: 'networks' },
} as const satisfies Record<
  string,
  {
    readonly kind: MemberKind;
    readonly what: string;
    readonly definitions: 'poolDefinitions' | 'networkDefinitions';
    readonly own: 'pools' | 'networks';
  }
>;
type Entity = keyof typeof entities;

const isEntity = (text: string): text is Entity => Object.hasOwn(entities, text);

/** The server keeps `volatile.*` itself. */
const isAsked = (entity: Entity, key: string): boolean =>
  isMemberKey(entities[entity].kind, key) && !key.startsWith('volatile.');

/** Names only: this member's values are useless to another one. */
export function askedOfHosts(records: Records): Cluster['member_config'] {
  return (Object.keys(entities) as Entity[]).flatMap((entity) => {
    const { definitions, own, what } = entities[entity];
    return records[definitions].list().flatMap(({ name, document }) => {
      const config: ConfigMap = {
        ...document.overrides[records.member ?? 0],
        ...records[own].get(name)?.document.config,
      };
      return Object.keys(config)
        .filter((key) => isAsked(entity, key))
        .toSorted()
        .map((key) => ({ entity, name, key, value: '', description: `"${key}" property for ${what} "${name}"` }));
    });
  });
}

/** The values of a request; an empty value leaves the choice to the member. */
export function readMemberConfig(
  sent: readonly Readonly<Record<string, string>>[],
): { readonly values: readonly MemberConfig[] } | { readonly problems: readonly Problem[] } {
  const problems: Problem[] = [];
  const values = sent.flatMap(({ entity = '', name = '', key = '', value = '' }, index) => {
    const path = `member_config.${index}`;
    const add = (field: string, message: string): void => void problems.push({ path: `${path}.${field}`, message });
    if (!isEntity(entity)) add('entity', `must be ${Object.keys(entities).join(' or ')}, is ${JSON.stringify(entity)}`);
    else if (!isAsked(entity, key))
      add('key', `${JSON.stringify(key)} is not a key of single members: the cluster sets it for all`);
    if (name === '') add('name', `must name the ${isEntity(entity) ? entities[entity].what : 'object'}`);
    return value === '' ? [] : [{ entity, name, key, value }];
  });
  return problems.length > 0 ? { problems } : { values };
}

/** Part of the transaction that admits the host. Throws AppError badRequest for objects that the cluster lacks. */
export function takeMemberConfig(
  records: Records,
  changes: Changes,
  member: number,
  values: readonly MemberConfig[],
): void {
  const problems: Problem[] = [];
  for (const entity of Object.keys(entities) as Entity[]) {
    const { definitions, what } = entities[entity];
    const ofEntity = values.filter((one) => one.entity === entity);
    for (const name of new Set(ofEntity.map((one) => one.name))) {
      const document = records[definitions].get(name)?.document;
      const config = Object.fromEntries(
        ofEntity.filter((one) => one.name === name).map(({ key, value }) => [key, value]),
      );
      if (document?.state !== 'created')
        problems.push({ path: 'member_config', message: `names the ${what} ${name}, which the cluster does not have` });
      else changes.put(definitions, name, { ...document, overrides: { ...document.overrides, [member]: config } });
    }
  }
  if (problems.length > 0) throw errors.invalid('cluster membership', problems);
}
