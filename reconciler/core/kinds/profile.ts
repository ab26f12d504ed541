// The profile kind. What a profile edit costs is decided where its users are known: in reach.ts.
import { configProblems, deviceProblems } from '../effects.ts';
import { deviceReferences } from './devices.ts';
import type { CoreKind } from './kind.ts';
import { presentDevices, presentTexts } from './values.ts';

export const profile: CoreKind = {
  fields: { description: 'scalar', config: 'map', devices: 'devices' },
  blanks: { description: '' },
  putFields: ['config', 'description', 'devices'],
  live: (observed, name) => observed.profiles.get(name),
  liveNames: (observed) => observed.profiles.keys(),
  apiName: (document) => document.name,
  references: (document) => deviceReferences(document.values['devices']),
  isComputed: () => false,
  effectOf: () => 'live',
  validate: (values) => [
    ...configProblems(presentTexts(values['config']), true),
    ...deviceProblems(presentDevices(values['devices'])),
  ],
  isPermanent: (name) => name === 'default',
};
