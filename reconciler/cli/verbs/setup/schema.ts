// `gantry schema`: prints the JSON Schema of manifests, for editors.
import type { CliContext } from '../../session/context.ts';
import { exitCodes, type ExitCode } from '../../errors/exit-codes.ts';

export async function schema(context: CliContext): Promise<ExitCode> {
  const { manifestSchema } = await import('../../../../server/api/schema/manifest-schema.ts');
  context.io.stdout.write(`${JSON.stringify(manifestSchema(), null, 2)}\n`);
  return exitCodes.ok;
}
