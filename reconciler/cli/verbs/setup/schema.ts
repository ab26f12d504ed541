// `gantry schema`: prints the JSON Schema of manifests, for editors.
import type { Run } from '../../session/context.ts';

export const schema: Run = async (context) => {
  const { manifestSchema } = await import('../../../../server/api/documents/manifest-schema.ts');
  context.io.stdout.write(`${JSON.stringify(manifestSchema(), null, 2)}\n`);
};
