// The network kind: managed bridges. `auto` is fulfilled by whatever the server picked.
import { networkProblems } from '../effects.ts';
import type { CoreKind } from './kind.ts';
import { isHalfMade, overrideProblems } from './member-overrides.ts';
import { presentTexts, textOf } from './values.ts';

const picked = new Set(['ipv4.address', 'ipv6.address', 'fan.underlay_subnet']);
const computed = new Set(['bridge.mtu', 'ipv4.address', 'ipv4.nat', 'ipv6.address', 'ipv6.nat']);

export const network: CoreKind = {
  fields: { description: 'scalar', type: 'scalar', config: 'map', member_overrides: 'members' },
  blanks: { description: '' },
  putFields: ['config', 'description'],
  live: (observed, name) => {
    const live = observed.networks.get(name);
    return live?.object.managed === false || isHalfMade(observed, live?.object.status) ? undefined : live;
  },
  liveNames: (observed) => observed.networks.keys(),
  apiName: (document) => document.name,
  references: () => [],
  isComputed: ([field, key = '']) => field === 'config' && (computed.has(key) || key.startsWith('volatile.')),
  fulfils: (key, live, desired) =>
    desired === 'auto' && picked.has(key) && live !== undefined && live !== '' && live !== 'none',
  effectOf: ([field]) => (field === 'type' ? 'recreate' : 'live'),
  validate: (values, name) => [
    ...networkProblems(name, textOf(values['type']) ?? '', presentTexts(values['config'])),
    ...overrideProblems('network', values['member_overrides']),
  ],
};
