// `gantry explain KIND[.path]`: explains manifest keys, and with `explain terraform` what is refused in Terraform JSON. Both read the
// tables that validate; contacts no daemon.
import { kindOfWord } from '../../../../server/api/kinds.ts';
import { hint } from '../../../../server/api/text/nearest-word.ts';
import type { Explanation } from '../../../core/kinds/explain-kinds.ts';
import type { Run, Output } from '../../session/context.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { paintFor } from '../../output/paint.ts';
import { commandError } from '../../errors/usage-error.ts';

export const explainPath: Run = async (context, [word]) => {
  const { explain, explainKinds, isUnknown } = await import('../../../core/kinds/explain-kinds.ts');
  if (word === undefined) {
    show(context, {
      path: 'kinds',
      type: '',
      doc: 'Objects that manifests declare.',
      facts: [],
      members: explainKinds(),
    });
    return exitCodes.ok;
  }
  const dot = word.search(/[./]/);
  const [first, rest] = dot === -1 ? [word, ''] : [word.slice(0, dot), word.slice(dot + 1)];
  if (first === 'terraform') return explainRefusals(context, rest);
  const kind = kindOfWord(first) ?? explainKinds().find(({ name }) => name === first)?.name;
  if (kind === undefined) {
    // A bare config key usually belongs to containers.
    const key = explain('container', `config.${word}`);
    if (!isUnknown(key)) {
      show(context, key);
      return exitCodes.ok;
    }
    const known = explainKinds().map(({ name }) => name);
    throw commandError(`unknown kind ${first}${hint(first, known)}; the kinds are ${known.join(', ')}`);
  }
  const found = explain(kind as Parameters<typeof explain>[0], rest);
  if (isUnknown(found)) {
    const near = hint(found.word, found.known);
    const config = explain(kind as Parameters<typeof explain>[0], 'config');
    const keys = isUnknown(config) ? [] : config.members.filter(({ name }) => `${name}.`.startsWith(`${rest}.`));
    const configHint = keys.length === 0 ? '' : ` (did you mean ${first}.config.${keys[0]?.name ?? ''}?)`;
    const some =
      near === '' && found.known.length > 0
        ? `${configHint}; known keys: ${found.known.slice(0, 12).join(', ')}${found.known.length > 12 ? ', ...' : ''}`
        : '';
    throw commandError(`${word}: ${JSON.stringify(found.word)} not found${near}${some}`);
  }
  show(context, found);
  return exitCodes.ok;
};

/** Explains all codes of Terraform JSON, or one. */
async function explainRefusals(context: Output, code: string): Promise<void> {
  const { explainTerraform, terraformCodes } = await import('../../../manifest/terraform-json/explain-terraform.ts');
  const found = explainTerraform(code);
  if (found === undefined) throw commandError(`unknown code ${code}${hint(code, terraformCodes)}`);
  show(context, found);
}

function show(context: Output, found: Explanation): void {
  if (context.isJson) return context.jsonObjects({ ...found, facts: Object.fromEntries(found.facts) });
  const paint = paintFor(context.color);
  const facts = found.facts.map(([name, text]) => `  ${name}: ${text}`);
  const width = Math.min(34, Math.max(0, ...found.members.map(({ name }) => name.length)));
  const members = found.members.map(
    ({ name, type, doc }) =>
      `  ${name.padEnd(width)}  ${paint.dim(type)}${doc === '' ? '' : `  ${firstSentence(doc)}`}`,
  );
  const title = `${paint.bold(found.path)}${found.type === '' ? '' : `  ${paint.dim(found.type)}`}`;
  const parts = [[title, ...(found.doc === '' ? [] : [`  ${found.doc}`]), ...facts], members];
  context.out(
    parts
      .filter((lines) => lines.length > 0)
      .map((lines) => lines.join('\n'))
      .join('\n\n'),
  );
}

const firstSentence = (text: string): string => /^.*?[.;](?=\s|$)/.exec(text)?.[0].replace(/[.;]$/, '') ?? text;
