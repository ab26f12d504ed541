// The profile kind. The effect of a profile edit depends on its users: see decide/plan-context.ts.
import { hasExtension } from '../../../server/api/server/capability.ts';
import type { Profile } from '../../../server/api/container/profile.ts';
import type { Live, Observed } from '../documents/observed.ts';
import { configProblems, deviceProblems } from '../settings/setting-effects.ts';
import { deviceReferences } from './devices.ts';
import { defineKind } from './kind.ts';
import { notesProfile } from './notes-profile.ts';
import { presentDevices, presentTexts } from '../documents/json-values.ts';

export const profile = defineKind('profile', {
  fields: { description: 'scalar', config: 'map', devices: 'devices' },
  blanks: { description: '' },
  putFields: ['config', 'description', 'devices'],
  live: (observed, name) => observed.profiles.get(name) ?? comingWithItsProject(observed, name),
  references: (document) => deviceReferences(document.values['devices']),
  liveReferences: (live) => deviceReferences(live['devices']),
  validate: (values, name) => [
    ...(name === notesProfile
      ? [
          {
            path: 'name',
            message: `${notesProfile} is the profile in which gantry keeps its notes; choose another name`,
          },
        ]
      : []),
    ...configProblems(presentTexts(values['config']), true),
    ...deviceProblems(presentDevices(values['devices'])),
  ],
  isPermanent: (name) => /^default(@|$)/.test(name),
});

/** The default profile of a new project, which comes with it and can only be changed. */
function comingWithItsProject({ projects, server }: Observed, name: string): Live<Profile> | undefined {
  const project = /^default@(.+)$/.exec(name)?.[1];
  const isServed = hasExtension(server.extensions, 'projects') && server.unserved?.includes('projects') !== true;
  if (project === undefined || !isServed || projects.has(project)) return undefined;
  const description = `Default LXD profile for project ${project}`;
  const object = { name: 'default', description, config: {}, devices: {}, used_by: [], project };
  return { object };
}
