// `gantry version`: prints the version of this program.
import type { Run } from '../../session/context.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { uiVersion } from '../../output/render-json.ts';
import { version } from '../../../../server/api/version.ts';

export const showVersion: Run = (context) => {
  context.jsonObjects({ gantry_version: version, ui: uiVersion });
  context.out(`Gantry ${version}`);
  return Promise.resolve(exitCodes.ok);
};
