// `gantry version`: prints the version of this program.
import type { CliContext } from '../../session/context.ts';
import { exitCodes, type ExitCode } from '../../errors/exit-codes.ts';
import { uiVersion } from '../../output/render-json.ts';
import { version } from '../../../../server/api/version.ts';

export function showVersion(context: CliContext): ExitCode {
  if (context.isJson) context.io.stdout.write(`${JSON.stringify({ gantry_version: version, ui: uiVersion })}\n`);
  else context.out(`Gantry ${version}`);
  return exitCodes.ok;
}
