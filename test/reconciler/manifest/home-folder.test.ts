// The folder of the user: where journals, contexts and logins are kept when the environment says little.
import { userInfo } from 'node:os';
import { expect, test } from 'vitest';
import { stateDirectory } from '../../../reconciler/engine/runs/journal.ts';
import { homeFolder } from '../../../reconciler/manifest/text/home-folder.ts';

test('an empty HOME counts as none, so that nothing is written into the current folder', () => {
  expect(homeFolder({ HOME: '/of/me' })).toBe('/of/me');
  expect(stateDirectory({ HOME: '/of/me', XDG_STATE_HOME: '' })).toBe('/of/me/.local/state/gantry');
  for (const env of [{}, { HOME: '' }]) {
    expect(homeFolder(env)).toBe(userInfo().homedir);
    expect(stateDirectory(env)).toBe(`${userInfo().homedir}/.local/state/gantry`);
  }
});
