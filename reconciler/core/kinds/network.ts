// The network kind: managed bridges. Any value that the server picked fulfils `auto`.
import type { Problem } from '../../../server/api/problem.ts';
import { splitList } from '../../../server/api/network/network-values.ts';
import type { JsonObject } from '../documents/document.ts';
import { networkProblems } from '../settings/setting-effects.ts';
import { defineKind, type Reference } from './kind.ts';
import { isHalfMade, overrideProblems } from './member-overrides.ts';
import { asText, mapOf, presentTexts, textOf } from '../documents/json-values.ts';

const picked = new Set(['ipv4.address', 'ipv6.address', 'fan.underlay_subnet']);
const computed = new Set(['bridge.mtu', 'ipv4.address', 'ipv4.nat', 'ipv6.address', 'ipv6.nat']);

export const network = defineKind('network', {
  fields: { description: 'scalar', type: 'scalar', config: 'map', member_overrides: 'members' },
  blanks: { description: '' },
  chosen: ['type'],
  refills: ([field, key = '']) => field === 'config' && key.startsWith('volatile.'),
  putFields: ['config', 'description'],
  live: (observed, name) => {
    const live = observed.networks.get(name);
    return live?.object.managed === false || isHalfMade(observed, live?.object.status) ? undefined : live;
  },
  references: ({ name, values }) => networkReferences(name, mapOf(values['config'])),
  liveReferences: (live) => networkReferences(textOf(live['name']) ?? '', mapOf(live['config'])),
  isComputed: ([field, key = '']) => field === 'config' && (computed.has(key) || key.startsWith('volatile.')),
  fulfils: (key, live, desired) =>
    desired === 'auto' && picked.has(key) && live !== undefined && live !== '' && live !== 'none',
  effectOf: ([field]) => (field === 'type' ? 'recreate' : 'live'),
  validate: (values, name) => [
    ...networkProblems(name, textOf(values['type']) ?? '', presentTexts(values['config'])),
    ...overrideProblems('network', values['member_overrides']),
    ...emptyAddresses(mapOf(values['config'])),
  ],
});

/** Networks of LXD may name another as uplink or parent, which may also be an interface of the host. */
const networkReferences = (own: string, config: JsonObject): readonly Reference[] => [
  ...splitList(asText(config['security.acls'])).map((name): Reference => ({
    kind: 'network_acl',
    name,
    path: 'config.security.acls',
    severity: 'error',
  })),
  ...['network', 'parent'].flatMap((key): readonly Reference[] => {
    const name = asText(config[key]);
    return ['', 'none', own].includes(name)
      ? []
      : [{ kind: 'network', name, path: `config.${key}`, severity: 'warning' }];
  }),
];

const families = ['ipv4', 'ipv6'] as const;

/** Empty NAT keys of a document that leaves the address to the server. The server sets them to true when it picks the address of a
 *  new network; an existing network has an address and loses the key. */
export const emptyNatKeys = (config: JsonObject): readonly string[] =>
  families.flatMap((family) => {
    const nat = `${family}.nat`;
    return config[`${family}.address`] === undefined && nat in config && asText(config[nat]) === '' ? [nat] : [];
  });

/** Refuses absent addresses: the server gives every new network without an address one with NAT. */
function emptyAddresses(config: JsonObject): readonly Problem[] {
  const isEmpty = (key: string): boolean => key in config && asText(config[key]) === '';
  return families.flatMap((family): readonly Problem[] => {
    const key = `${family}.address`;
    if (isEmpty(key))
      return [
        {
          path: `config.${key}`,
          message: `${key} has no value, so the server would pick one: write none for no address, auto for any that is free`,
        },
      ];
    const nat = `${family}.nat`;
    return isEmpty(nat) && config[key] === 'auto'
      ? [
          {
            path: `config.${nat}`,
            message: `${nat} has no value, so the server would set true: write false, or leave it out`,
          },
        ]
      : [];
  });
}
