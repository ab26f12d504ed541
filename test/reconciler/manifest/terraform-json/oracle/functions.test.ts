// Functions and templates against Terraform's own answers: every supported function, with error-prone arguments.
import { mkdirSync, readFileSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { evaluate, type Scope } from '../../../../../reconciler/manifest/terraform-json/expression/evaluate.ts';
import { filesFrom } from '../../../../../reconciler/manifest/terraform-json/expression/functions/file-reader.ts';
import { refusedFunctions } from '../../../../../reconciler/manifest/terraform-json/expression/functions/refused.ts';
import { functionNames } from '../../../../../reconciler/manifest/terraform-json/expression/functions/table.ts';
import { toPlain } from '../../../../../reconciler/manifest/terraform-json/expression/json-text.ts';
import { parseTemplate } from '../../../../../reconciler/manifest/terraform-json/expression/parse.ts';
import type { Value } from '../../../../../reconciler/manifest/terraform-json/expression/values.ts';
import { oracleMissing, TerraformOracle, type Answer } from '../../../../support/terraform/oracle.ts';

const missing = oracleMissing('functions against Terraform');

const locals: Readonly<Record<string, Value>> = {
  names: ['b', 'a'],
  ports: { http: 80, https: 443 },
  nested: [{ id: 1, tags: ['x', 'y'] }],
  on: true,
  text: 'one\ntwo\n',
};
const oracle = new TerraformOracle(locals);
beforeAll(() => {
  writeFileSync(join(oracle.dir, 'hello.txt'), 'hällo\n');
  writeFileSync(join(oracle.dir, 'bytes.bin'), Buffer.from([0xff, 0, 1]));
  writeFileSync(join(oracle.dir, 'list.tpl'), '%{ for n in names ~}\n- ${upper(n)}\n%{ endfor ~}\nend ${port}\n');
  writeFileSync(join(oracle.dir, 'lone.tpl'), '${names}');
  writeFileSync(join(oracle.dir, 'bad.tpl'), '${names');
  writeFileSync(join(oracle.dir, 'twice.tpl'), '${templatefile("lone.tpl", {names = 1})}');
  for (const folder of ['d/e/f', 'd/x']) mkdirSync(join(oracle.dir, folder), { recursive: true });
  for (const file of ['d/a.txt', 'd/b.md', 'd/e/c.txt', 'd/e/f/d.txt', 'd/x/ab.txt', 'd/.hidden'])
    writeFileSync(join(oracle.dir, file), file);
  symlinkSync('a.txt', join(oracle.dir, 'd/link.txt'));
  writeFileSync(join(oracle.dir, 'composed.txt'), 'e\u0301');
  mkdirSync(join(oracle.dir, 'linked'));
  symlinkSync('../d/e', join(oracle.dir, 'linked/folder'));
});

const ours = (template: string): { readonly value?: unknown; readonly error?: string } => {
  const scope: Scope = {
    files: filesFrom(realpathSync(oracle.dir)),
    resolve: ([first = '', second = '']) => {
      if (first === 'path') return { value: second === 'cwd' ? realpathSync(oracle.dir) : '.', used: 2 };
      return first === 'local' && Object.hasOwn(locals, second)
        ? { value: locals[second] ?? null, used: 2 }
        : undefined;
    },
  };
  try {
    return { value: toPlain(evaluate(parseTemplate(template), scope)) };
  } catch (error) {
    return { error: (error as Error).message };
  }
};

const expressions = readFileSync(join(import.meta.dirname, 'function-expressions.txt'), 'utf8')
  .trim()
  .split('\n');

/** Whole strings of a configuration: directives, strip markers, heredocs inside of interpolations. */
const templates: readonly string[] = [
  '%{ if local.on }yes%{ else }no%{ endif }',
  '%{ if !local.on }yes%{ endif }',
  '%{ if local.on }${1}%{ endif }',
  'a%{ if local.on ~}  \n  x  \n  %{~ endif }b',
  '%{ for n in local.names }${n},%{ endfor }',
  '%{ for i, n in local.names ~}\n${i}=${n}\n%{ endfor ~}\n',
  '%{ for k, v in local.ports }${k}:${v} %{ endfor }end',
  '%{ for n in [] }x%{ endfor }',
  '%{ for n in local.names }%{ if n == "a" }A%{ else }${n}%{ endif }%{ endfor }',
  'a  \n  ${~ "x" ~}  \n  b',
  'a \n\n  ${~ "x" ~} \n\n c',
  '  ${~ 1 ~}  ',
  '${~ 5 ~}',
  '%{ if local.on }%{ endif }',
  '%{ if local.on }unfinished',
  '%{ endif }',
  '%{ if local.on }a%{ else }b%{ else }c%{ endif }',
  '%{ while true }x%{ endif }',
  '%{ for x in 5 }x%{ endfor }',
  '%{ if "maybe" }x%{ endif }',
  '%%{ if true } $${x} %{ if true }%%{%{ endif }',
  '${"%{ if local.on }in%{ else }out%{ endif }!"}',
  '${"a %{ for n in local.names ~} ${n} %{~ endfor } b"}',
  '%{for n in local.names}${n}%{endfor}',
  '${<<EOT\na ${1 + 1}\n  b\nEOT\n}',
  '${<<-EOT\n    a\n      b\n    ${1}\n    EOT\n}',
  '${<<-EOT\n    a\n\n      b\\n\n  EOT\n}',
  '${[<<A\nx\nA\n, 1]}',
  '${upper(<<X\nabc\nX\n)}',
  '${<<-EOT\n  %{ for n in local.names ~}\n  - ${n}\n  %{ endfor ~}\n  EOT\n}',
  '${<<EOT\nno end\n}',
  '${local.nested.0.tags.1}-${local.nested.*.tags[0][1]}',
  'é${"ü"}${"\\u00e4"}',
  '${jsonencode(local.nested)}',
  '${{ a = 1, b = [for n in local.names : upper(n)] }}',
];

function differences(asked: readonly string[], answers: readonly Answer[]): readonly string[] {
  return asked.flatMap((template, index) => {
    const mine = ours(template);
    const answer = answers[index];
    if (answer === undefined)
      return mine.error === undefined ? [`${template}: Terraform refuses, ours ${JSON.stringify(mine.value)}`] : [];
    if (mine.error !== undefined)
      return [`${template}: Terraform ${JSON.stringify(answer.value)}, ours refuses: ${mine.error}`];
    return isDeepStrictEqual(mine.value, answer.value)
      ? []
      : [`${template}: Terraform ${JSON.stringify(answer.value)}, ours ${JSON.stringify(mine.value)}`];
  });
}

describe.skipIf(missing !== undefined)('functions', { timeout: 300_000 }, () => {
  test('have the values that Terraform gives them, or are refused by both', () => {
    const asked = expressions.map((each) => `\${${each}}`);
    expect(differences(asked, oracle.answers(asked))).toEqual([]);
  });

  test('work in templates with the directives of Terraform', () => {
    expect(differences(templates, oracle.texts(templates))).toEqual([]);
  });
});

test('a function that could differ from Terraform is refused with the reason', () => {
  const reasons = [
    ['timestamp()', 'the function timestamp is not evaluated: every plan would find a change'],
    ['uuid()', 'the function uuid is not evaluated: its result is another one each time'],
    ['regex("(?:(a)|b)*", "ab")', 'regex(): groups that a repetition may pass over are not evaluated'],
    ['cidrhost("::ffff:1.2.3.4/120", 5)', 'IPv4 addresses inside of IPv6 ones are not evaluated'],
    ['textencodebase64("a", "CP437")', 'the encoding CP437 is not evaluated, only UTF-8'],
    ['provider::aws::arn_parse("x")', 'the function provider::aws::arn_parse is not evaluated'],
    [
      'tostring(1/3)',
      '0.3333333333333333 has more digits than are kept here: round it with floor(), ceil() or format(',
    ],
    ['{(2/3) = 1}', 'has more digits than are kept here'],
    ['jsonencode([10/3])', 'has more digits than are kept here'],
    ['format("%.20f", 1/3)', 'has more digits than are kept here'],
    ['format("%v", 1/3)', 'has more digits than are kept here'],
    ['"${1.15 + 2.3}x"', '3.4499999999999997 has more digits than are kept here'],
    ['tostring(28 * 10.4)', 'has more digits than are kept here'],
    ['tostring(sum([0.618, -0.904]))', 'has more digits than are kept here'],
    ['1e400', '1e400 is too large to be kept exactly'],
    ['yamldecode("a: !!binary aGk=")', 'the tag tag:yaml.org,2002:binary is not evaluated'],
  ] as const;
  for (const [expression, reason] of reasons) expect(ours(`\${${expression}}`).error).toContain(reason);
});

test('every function of Terraform 1.11 is evaluated and compared, or refused with its reason', () => {
  const all = readFileSync(join(import.meta.dirname, 'function-names.txt'), 'utf8')
    .trim()
    .split('\n');
  const known = functionNames.filter((name) => !name.includes('::'));
  expect([...known, ...Object.keys(refusedFunctions)].sort()).toEqual(all.sort());
  const compared = `${readFileSync(join(import.meta.dirname, 'expressions.test.ts'), 'utf8')}\n${expressions.join('\n')}`;
  const isCompared = (name: string): boolean => new RegExp(`\\b${name}\\(`).test(compared);
  expect(known.filter((name) => !isCompared(name))).toEqual([]);
});
