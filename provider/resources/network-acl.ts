// gantry_network_acl: named traffic rules, which networks use in `security.acls`.
import type { NetworkAcl } from '../../server/api/network/network-acl.ts';
import { networkAclName } from '../../server/api/names.ts';
import { validateNetworkAcl } from '../../server/api/network/validate-network-acl.ts';
import { needExtension } from '../connection/link.ts';
import { textMap, type StateOf, type TextMap } from '../framework/attribute.ts';
import type { Diagnostic } from '../framework/diagnostic.ts';
import type { Path } from '../framework/path.ts';
import { wrongValue } from '../framework/validate.ts';
import { isWhollyKnown, type Value } from '../framework/value.ts';
import { readRules, rulesAttribute, sentRule, type RuleState } from './network-acl-rules.ts';
import { present, readMap, sameMap, writtenMap } from './shared/config-maps.ts';
import { descriptionAttribute, gantryResource, nameAttribute } from './shared/common-attributes.ts';
import { importByParts } from './shared/import-ids.ts';
import { listByKind } from './shared/listing.ts';
import { deleteKind, readKind } from './shared/read-by-kind.ts';
import { renameKind } from './shared/rename.ts';
import { conflicting, edit, editOf, performCreate } from './shared/write.ts';

const attributes = {
  name: nameAttribute('Name of the ACL, which networks write in `security.acls`.', networkAclName),
  description: descriptionAttribute,
  ingress: rulesAttribute('Rules for what comes to the containers of a network.'),
  egress: rulesAttribute('Rules for what the containers of a network send.'),
  config: textMap({ doc: 'Keys that start with `user.`.', default: {}, same: sameMap }),
};
type State = StateOf<typeof attributes>;

const readAcl = (live: NetworkAcl, state: State) => ({
  description: live.description,
  config: readMap(live.config, state.config),
  ingress: readRules(live.ingress, state.ingress),
  egress: readRules(live.egress, state.egress),
});

const written = (state: State) => ({
  description: state.description ?? '',
  ingress: (state.ingress ?? []).map(sentRule),
  egress: (state.egress ?? []).map(sentRule),
});

const known = <T>(value: unknown, none: T): T =>
  value !== null && isWhollyKnown(value as Value) ? (value as T) : none;

/** `ingress.0.source` -> `ingress[0].source`. */
function problemAt(path: string, message: string): Diagnostic {
  const [attribute = '', ...below] = path.split('.');
  const [index, member] = below;
  const steps: Path =
    attribute === 'config'
      ? [{ attribute }, ...(index === undefined ? [] : [{ key: below.join('.') }])]
      : [
          { attribute },
          ...(index === undefined ? [] : [{ index: Number(index) }]),
          ...(member === undefined ? [] : [{ attribute: member }]),
        ];
  return wrongValue(steps, message);
}

export const networkAcl = gantryResource({
  typeName: 'gantry_network_acl',
  doc: 'A network ACL: rules for what passes between networks and the rest. A network names it in `security.acls`.',
  attributes,
  identity: ['name'],
  listing: listByKind('network_acl'),
  importing: importByParts(['name'], 'web'),
  validate({ config, ingress, egress }) {
    const rules = (list: unknown) => known<readonly RuleState[]>(list, []).map(sentRule);
    const acl = { config: present(known<TextMap>(config, {})), ingress: rules(ingress), egress: rules(egress) };
    return validateNetworkAcl(acl).map(({ path, message }) => problemAt(path, message));
  },
  async read(state, context) {
    const live = await readKind(context, 'network_acl', state.name);
    return live === undefined ? null : readAcl(live, state);
  },
  async create({ planned }, context) {
    const { client, signal } = context;
    needExtension(client, 'network_acl', 'have network ACLs');
    const body = { name: planned.name, ...written(planned), config: present(planned.config ?? {}) };
    await performCreate(context, () => client.client.create('network_acl', body, {}, signal));
  },
  async update({ planned }, prior, context) {
    await edit(
      context,
      editOf(context, 'network_acl', prior.name, {
        changedSince: (live) =>
          conflicting({ prior, planned }, (state) => readAcl(live, state), [
            'description',
            'config',
            'ingress',
            'egress',
          ]),
        body: (live) => ({ ...written(planned), config: writtenMap(live.config, planned.config, prior.config) }),
      }),
    );
    await renameKind(context, 'network_acl', prior, planned);
  },
  delete: (prior, context) => deleteKind(context, 'network_acl', prior.name),
});
