// The text of `gantry explain terraform`: supported and refused features, from the tables that refuse them.
import type { Explanation } from '../../core/kinds/explain-kinds.ts';
import { resourceTypeNames } from './types/resource-types.ts';
import { rows, subsetVersion, type Code } from './unsupported.ts';

/** `rest`: nothing, or a code. Undefined: there is no such code. */
export function explainTerraform(rest: string): Explanation | undefined {
  if (rest === '') {
    return {
      path: 'terraform',
      type: `subset ${subsetVersion}`,
      doc: 'Constructs that are refused in *.tf.json files, by the codes of messages; everything else is evaluated as Terraform does.',
      facts: [['resource types', resourceTypeNames.join(', ')]],
      members: Object.entries(rows).map(([name, [what]]) => ({ name, type: '', doc: what })),
    };
  }
  if (!Object.hasOwn(rows, rest)) return undefined;
  const [what, hint] = rows[rest as Code];
  return { path: `terraform.${rest}`, type: '', doc: `Refused: ${what}.`, facts: [['remedy', hint]], members: [] };
}

export const terraformCodes: readonly string[] = Object.keys(rows);
