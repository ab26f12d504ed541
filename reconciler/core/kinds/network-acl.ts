// The network ACL kind: named lists of rules, which networks name in security.acls.
import { plainRule, type NetworkAclRule } from '../../../server/api/network/network-acl.ts';
import { validateNetworkAcl } from '../../../server/api/network/validate-network-acl.ts';
import type { Json } from '../documents/document.ts';
import { isMap, presentTexts, textOf } from '../documents/json-values.ts';
import { defineKind } from './kind.ts';

export const networkAcl = defineKind('network_acl', {
  fields: { description: 'scalar', config: 'map', ingress: 'list', egress: 'list' },
  blanks: { description: '', ingress: [], egress: [] },
  putFields: ['config', 'description', 'egress', 'ingress'],
  validate: (values) =>
    validateNetworkAcl({
      config: presentTexts(values['config']),
      ingress: rulesIn(values['ingress']),
      egress: rulesIn(values['egress']),
    }),
});

const rulesIn = (list: Json | undefined): NetworkAclRule[] =>
  (Array.isArray(list) ? list : []).map((each) => {
    const texts = Object.entries(isMap(each) ? each : {}).map(([member, value]) => [member, textOf(value) ?? '']);
    return plainRule({ action: '', state: '', ...Object.fromEntries(texts) });
  });
