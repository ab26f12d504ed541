// Hostile configurations: evaluation ends in time, and no value takes all memory.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Diagnostic } from '../../../../reconciler/core/documents/diagnostic.ts';
import type { Json } from '../../../../reconciler/core/documents/document.ts';
import { evaluateAside } from '../../../../reconciler/manifest/terraform/evaluate-aside.ts';
import { evaluateHere } from '../../../../reconciler/manifest/terraform/evaluate-here.ts';
import type { Configuration } from '../../../../reconciler/manifest/terraform/evaluation.ts';
import { loadWithData } from '../../../../reconciler/manifest/terraform/load-with-data.ts';
import { readTfvars } from '../../../../reconciler/manifest/terraform/tfvars.ts';
import { tempFolder } from '../../../support/temp-folder.ts';

const configurationOf = (value: Json): Configuration => ({
  files: [{ file: 'main.tf.json', folder: '/nowhere', value }],
  given: new Map(),
  modules: new Map(),
});

const load = async (locals: Readonly<Record<string, string>>, limitMs = 20_000, evaluate = evaluateHere) => {
  const value = { locals, output: { last: { value: `\${local.${Object.keys(locals).at(-1)}}` } } };
  const { loaded } = await loadWithData(configurationOf(value), { evaluate, limitMs });
  return loaded.problems;
};

const rounds = ['a', 'b', 'c', 'd'].reduce((inner, name) => `[for ${name} in range(1000) : ${inner}]`, '1');

test.each([
  ['a pattern that repeats a repetition', `\${regex("^(a+)+$", "${'a'.repeat(60)}b")}`],
  ['a replacement with such a pattern', `\${replace("${'a'.repeat(60)}b", "/^(a+)+$/", "")}`],
  ['loops in loops', `\${length(${rounds})}`],
])('the time limit ends %s', async (_what, text) => {
  const problems = await load({ x: text }, 300);
  expect(problems).toEqual([expect.objectContaining({ code: 'E_TIME', file: 'main.tf.json' })]);
  // The next configuration is evaluated as ever.
  expect(await load({ x: '${upper("a")}' }, 10_000)).toEqual([]);
});

const doubled = Object.fromEntries(
  Array.from({ length: 40 }, (_, at) => [`l${at}`, at === 0 ? 'text' : `\${local.l${at - 1}}\${local.l${at - 1}}`]),
);

test.each([
  ['indent', { x: '${indent(100000000, "a\\nb")}' }],
  ['indent beyond what a text can hold', { x: '${indent(1e12, "a\\nb")}' }],
  ['replace', { x: '${replace(format("%10000s", ""), " ", format("%10000s", ""))}' }],
  ['replace with a pattern', { x: '${replace(format("%10000s", ""), "/ /", format("%10000s", ""))}' }],
  ['join', { x: '${join(format("%10000s", ""), split("", format("%10000s", "")))}' }],
  ['templates that double', doubled],
])('a text that is too long is refused: %s', async (_what, locals) => {
  const [problem] = await load(locals);
  expect(problem).toMatchObject({ code: expect.stringMatching(/^E_(VALUE|TYPE)$/) });
  expect(problem?.message).toContain('more than 33554432 characters');
});

test.each(['distinct', 'toset', 'setunion'])(
  '%s() of many values takes no time that grows with their square',
  async (name) => {
    const values = 'flatten([for a in range(300) : [for b in range(300) : "${a}-${b}"]])';
    expect(await load({ x: `\${length(${name}(${values}))}` }, 15_000)).toEqual([]);
  },
);

test('an evaluation that the limit ends requests no data, and is not repeated', async () => {
  const data = { gantry_image: { one: { alias: 'x' } } };
  const locals = { x: '${data.gantry_image.one.fingerprint}', y: `\${${rounds}}` };
  const value = { data, locals, output: { last: { value: '${local.x}${length(local.y)}' } } };
  let reads = 0;
  const live = (requests: readonly unknown[]): Promise<undefined[]> => {
    reads += 1;
    return Promise.resolve(requests.map(() => undefined));
  };
  const { loaded } = await loadWithData(configurationOf(value), { live, limitMs: 300 });
  expect([loaded.problems.map(({ code }) => code), reads]).toEqual([['E_TIME'], 0]);
});

test('an evaluation in a thread lets the event loop turn, and ends at the limit', async () => {
  let turns = 0;
  const clock = setInterval(() => void turns++, 10);
  const problems = await load({ x: `\${regex("^(a+)+$", "${'a'.repeat(60)}b")}` }, 1000, evaluateAside);
  clearInterval(clock);
  expect(problems).toEqual([
    expect.objectContaining({ code: 'E_TIME', message: 'the evaluation takes longer than 1 s' }),
  ]);
  expect(turns).toBeGreaterThan(5);
});

test('a thread evaluates to what this thread does', async () => {
  const value = { locals: { a: '${{ x = [1, true, null], y = "ä" }}' }, output: { a: { value: '${local.a}' } } };
  const [here, aside] = await Promise.all(
    [evaluateHere, evaluateAside].map((evaluate) => loadWithData(configurationOf(value), { evaluate })),
  );
  expect(aside).toEqual(here);
  expect(here?.loaded.outputs.get('a')?.value).toEqual({ x: [1, true, null], y: 'ä' });
});

test('loops in values of variables are refused, since these are read in this thread', async () => {
  const file = join(tempFolder('gantry-tfvars-'), 'terraform.tfvars');
  const list = JSON.stringify(Array.from({ length: 100 }, () => 1));
  const loops = ['a', 'b', 'c', 'd', 'e', 'f'].reduce((inner, name) => `[for ${name} in ${list} : ${inner}]`, '1');
  writeFileSync(file, `x = ${loops}\n`);
  const diagnostics: Diagnostic[] = [];
  const { values } = await readTfvars(file, diagnostics);
  expect([values.size, diagnostics.map(({ message }) => message)]).toEqual([
    0,
    ['terraform.tfvars: no for expression may stand here'],
  ]);
  const value = { variable: { x: { type: 'list(any)' } } };
  const { loaded } = await loadWithData({ ...configurationOf(value), given: new Map([['x', { text: loops }]]) }, {});
  expect(loaded.problems).toEqual([expect.objectContaining({ code: 'E_VARIABLE' })]);
});
