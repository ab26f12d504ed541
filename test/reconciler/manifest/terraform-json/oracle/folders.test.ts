// Whole configurations without resources, loaded by gantry and applied by Terraform: modules, override files, values of variables,
// conditions and settings give the same outputs, or are refused by both.
import { describe, expect, test } from 'vitest';
import type { Json } from '../../../../../reconciler/core/documents/document.ts';
import { TerraformFolder } from '../../../../support/terraform/folder.ts';
import { oracleMissing } from '../../../../support/terraform/oracle.ts';

const missing = oracleMissing('configurations against Terraform');
const folder = new TerraformFolder();

type Files = Readonly<Record<string, Json>>;
interface Given {
  readonly env?: Readonly<Record<string, string>>;
  readonly vars?: Readonly<Record<string, string>>;
}

/** Expects equal outputs of both; undefined if both refuse. */
async function answered(files: Files, given: Given = {}): Promise<Readonly<Record<string, unknown>> | undefined> {
  folder.write(files);
  const theirs = folder.theirs(given);
  const ours = await folder.ours(given);
  const problems = [...ours.problems, ...ours.diagnostics.filter(({ severity }) => severity === 'error')];
  const outputs = Object.fromEntries([...ours.outputs].map(([name, { value }]) => [name, value]));
  if (theirs.outputs === undefined) {
    expect(problems, theirs.text).not.toEqual([]);
    return undefined;
  }
  expect(problems).toEqual([]);
  expect(outputs).toEqual(theirs.outputs);
  return outputs;
}

const outputs = (values: Readonly<Record<string, Json>>): Json =>
  Object.fromEntries(Object.entries(values).map(([name, value]) => [name, { value }]));

const net: Json = {
  variable: {
    name: { type: 'string' },
    size: { type: 'number', default: 1 },
    tags: { type: 'map(string)', default: {} },
    shape: { type: 'object({ a = optional(number, 7), b = optional(list(string), ["x"]) })', default: {} },
    strict: { type: 'string', default: 'd', nullable: false },
  },
  locals: { full: '${var.name}-${var.size}' },
  output: outputs({
    full: '${local.full}',
    tags: '${var.tags}',
    shape: '${var.shape}',
    strict: '${var.strict}',
    where: '${path.module}|${path.root}',
  }),
};

/** Values that get the type of the elements of an empty list, set or map. */
const besideEmpty: readonly string[] = [
  'length(var.texts) > 0 ? var.texts : [80]',
  'length(var.map) > 0 ? var.map : {a = 1}',
  'length(var.objects) > 0 ? var.objects : [{a = 1}]',
  'concat(var.texts, tolist([1]))',
  'lookup(var.map, "x", 80)',
  'setunion(var.set, [1, 2])',
  'setintersection(var.set, [1])',
  'setsubtract([1], var.set)',
  'merge(var.map, {a = 1})',
  'flatten([var.texts, [1]])',
  'coalescelist(var.texts, [1])',
  'tolist([var.texts, tolist([1])])',
  'tomap({a = var.texts, b = tolist([1])})',
  ...['tolist([])', 'slice(var.texts, 0, 0)', 'reverse(var.texts)', 'compact([])', 'sort([])', 'values(var.map)']
    .concat('keys(var.numbers)', 'keys({})', 'toset(var.texts)', 'tolist(var.set)', 'var.any', 'var.texts')
    .map((empty) => `true ? [1] : ${empty}`),
  ...['tomap({})', 'zipmap([], var.texts)', 'zipmap(var.texts, [])', 'var.map'].map(
    (empty) => `true ? {a = 1} : ${empty}`,
  ),
  'tolist([]) == var.texts',
  'var.map == var.numbers',
  'var.set == toset([])',
  'var.texts == tolist(var.set)',
  'var.any == tolist([])',
  'var.some == tolist(["a"])',
  'contains([var.texts], tolist([]))',
  'var.texts == []',
];

const configurations: readonly [string, Files, Given?][] = [
  [
    'a module with its own values, nested ones, and all of their outputs',
    {
      'main.tf.json': {
        module: { a: { source: './net', name: 'a', size: '2', tags: { x: 1 }, shape: { a: '5' }, strict: null } },
        output: outputs({ one: '${module.a.full}', all: '${module.a}' }),
      },
      'net/main.tf.json': net,
    },
  ],
  [
    'modules by count and for_each, that use each other',
    {
      'main.tf.json': {
        locals: { names: ['x', 'y'] },
        module: {
          many: { source: './net', count: 2, name: 'n${count.index}' },
          each: { source: './net', for_each: '${toset(local.names)}', name: '${module.many[0].full}-${each.key}' },
          outer: { source: './outer', inner: '${module.each["x"].full}' },
        },
        output: outputs({
          many: '${module.many[*].full}',
          each: '${{ for k, m in module.each : k => m.full }}',
          deep: '${module.outer.deep}',
        }),
      },
      'net/main.tf.json': net,
      'outer/main.tf.json': {
        variable: { inner: {} },
        module: { net: { source: '../net', name: '${var.inner}!' } },
        output: outputs({ deep: '${module.net.full} ${module.net.where}' }),
      },
    },
  ],
  [
    'modules that take outputs of each other without a circle',
    {
      'main.tf.json': {
        module: { a: { source: './m', x: '1', y: '${module.b.x}' }, b: { source: './m', x: '2', y: '${module.a.x}' } },
        output: outputs({ a: '${module.a.y}', b: '${module.b.y}' }),
      },
      'm/m.tf.json': { variable: { x: {}, y: {} }, output: outputs({ x: '${var.x}', y: '${var.y}' }) },
    },
  ],
  [
    'a module without a value that it needs',
    { 'main.tf.json': { module: { a: { source: './net' } } }, 'net/m.tf.json': net },
  ],
  [
    'a module with a value that it does not take',
    { 'main.tf.json': { module: { a: { source: './net', name: 'a', color: 1 } } }, 'net/m.tf.json': net },
  ],
  [
    'an output that the module does not have',
    {
      'main.tf.json': { module: { a: { source: './net', name: 'a' } }, output: outputs({ o: '${module.a.nothing}' }) },
      'net/m.tf.json': net,
    },
  ],
  ['a module that is not there', { 'main.tf.json': { module: { a: { source: './none' } } } }],
  [
    'override files, the last one winning',
    {
      'main.tf.json': {
        variable: { v: { type: 'string', default: 'base' } },
        locals: { a: 1, b: 2 },
        module: { m: { source: './net', name: 'base', size: 3 } },
        output: { v: { value: '${var.v}' }, l: { value: '${local.a}-${local.b}' }, m: { value: '${module.m.full}' } },
      },
      'override.tf.json': { variable: { v: { default: 'over' } }, locals: { b: 20 } },
      'z_override.tf.json': {
        locals: { a: 10 },
        module: { m: { name: 'over' } },
        output: { l: { value: 'was ${local.a}+${local.b}' } },
      },
      'net/main.tf.json': net,
      'net/net_override.tf.json': { locals: { full: '${var.name}/${var.size}' } },
    },
  ],
  [
    'an override of nothing',
    { 'main.tf.json': { locals: { a: 1 } }, 'override.tf.json': { output: { o: { value: 1 } } } },
  ],
  [
    'an override of a local that is not there',
    { 'main.tf.json': { locals: { a: 1 } }, 'override.tf.json': { locals: { b: 1 } } },
  ],
  [
    'values from everywhere, the strongest last',
    {
      'main.tf.json': {
        variable: Object.fromEntries('a b c d e f'.split(' ').map((name) => [name, { type: 'string', default: name }])),
        output: outputs({ all: '${join(",", [var.a, var.b, var.c, var.d, var.e, var.f])}' }),
      },
      'terraform.tfvars': 'b = "hcl"\nc = "hcl"\nd = "hcl"\ne = "hcl"\nf = "hcl"\n',
      'terraform.tfvars.json': { c: 'json', d: 'json', e: 'json', f: 'json' },
      'a.auto.tfvars': 'd = "auto"\ne = "auto"\nf = "auto"',
      'b.auto.tfvars.json': { e: 'auto json', f: 'auto json' },
    },
    { env: { TF_VAR_a: 'env', TF_VAR_b: 'env' }, vars: { f: 'flag' } },
  ],
  [
    'values of all types in HCL',
    {
      'main.tf.json': {
        variable: {
          list: { type: 'list(string)' },
          map: { type: 'map(number)' },
          object: {
            type: 'object({ a = string, b = optional(bool, true), c = optional(object({ d = optional(number, 4) }), {}) })',
          },
          tuple: { type: 'tuple([string, number])' },
          set: { type: 'set(string)' },
          number: { type: 'number' },
          bool: { type: 'bool' },
          nothing: { type: 'string' },
          any: { type: 'any' },
          doc: {},
          dashed: {},
        },
        output: outputs({
          all: '${[var.list, var.map, var.object, var.tuple, var.set, var.number, var.bool, var.any, var.doc, var.dashed]}',
          nothing: '${var.nothing == null}',
        }),
      },
      'terraform.tfvars': `# comment
list = ["a", 1, true,]   // trailing
map = {
  x = 1
  "y z" : "2"
}
/* more
   comment */
object = { a = 5 }
tuple = ["a", "3"]
set = ["b", "a", "b"]
number = -1.5e2
bool = "true"
nothing = null
any = { a = [1, { b = null }] }
doc = <<-EOT
    line one
      line two
  EOT
dashed = "q\\"\\u00e9 $\${x}"
`,
    },
  ],
  [
    'a value that refers to something',
    { 'main.tf.json': { variable: { a: {} } }, 'terraform.tfvars': 'a = path.root' },
  ],
  ['a value that calls a function', { 'main.tf.json': { variable: { a: {} } }, 'terraform.tfvars': 'a = upper("x")' }],
  ['a value given twice', { 'main.tf.json': { variable: { a: {} } }, 'terraform.tfvars': 'a = 1\na = 2' }],
  ['a file of values with a block', { 'main.tf.json': { variable: { a: {} } }, 'terraform.tfvars': 'a { b = 1 }' }],
  ['a file of values that does not end', { 'main.tf.json': { variable: { a: {} } }, 'terraform.tfvars': 'a = [1,' }],
  ['two values in one line', { 'main.tf.json': { variable: { a: {}, b: {} } }, 'terraform.tfvars': 'a = 1 b = 2' }],
  [
    'a value for a variable that is not there, which is no error',
    { 'main.tf.json': { output: outputs({ o: 1 }) }, 'terraform.tfvars': 'other = 1' },
  ],
  [
    'texts for lists and maps are expressions',
    {
      'main.tf.json': {
        variable: { list: { type: 'list(string)' }, map: { type: 'map(string)' }, any: { type: 'any' }, text: {} },
        output: outputs({ all: '${[var.list, var.map, var.any, var.text]}' }),
      },
    },
    { env: { TF_VAR_list: '["a", "b",]', TF_VAR_text: '[1]' }, vars: { map: '{ a = "b", c : 1 }', any: '[1, "x"]' } },
  ],
  ['a text that is no list', { 'main.tf.json': { variable: { l: { type: 'list(string)' } } } }, { vars: { l: 'a,b' } }],
  [
    'a text for a number',
    { 'main.tf.json': { variable: { n: { type: 'number' } }, output: outputs({ o: '${var.n + 1}' }) } },
    { vars: { n: '41' } },
  ],
  ['no number', { 'main.tf.json': { variable: { n: { type: 'number' } } } }, { vars: { n: 'many' } }],
  [
    'null that is not allowed',
    { 'main.tf.json': { variable: { n: { nullable: false } } }, 'terraform.tfvars': 'n = null' },
  ],
  [
    'null that stands for the default',
    {
      'main.tf.json': { variable: { n: { nullable: false, default: 'd' } }, output: outputs({ o: '${var.n}' }) },
      'terraform.tfvars': 'n = null',
    },
  ],
  [
    'a rule of a variable that holds, and refers to another one',
    {
      'main.tf.json': {
        variable: {
          low: { type: 'number', default: 1 },
          high: {
            type: 'number',
            default: 2,
            validation: { condition: '${var.high > var.low}', error_message: 'high must be above ${var.low}.' },
          },
        },
        output: outputs({ o: '${var.high}' }),
      },
    },
  ],
  [
    'a rule that does not hold',
    {
      'main.tf.json': {
        variable: { v: { validation: [{ condition: '${length(var.v) > 3}', error_message: 'It is too short.' }] } },
      },
    },
    { vars: { v: 'abc' } },
  ],
  [
    'a precondition of an output that does not hold',
    { 'main.tf.json': { output: { o: { value: 1, precondition: { condition: '${1 > 2}', error_message: 'No.' } } } } },
  ],
  [
    'a check that does not hold, which stops nothing',
    {
      'main.tf.json': {
        locals: { one: 1 },
        check: { c: { assert: [{ condition: '${local.one > 2}', error_message: 'One is not ${1 + 1}.' }] } },
        output: outputs({ o: 1 }),
      },
    },
  ],
  [
    'a version that it takes',
    { 'main.tf.json': { terraform: { required_version: '>= 1.5, < 2.0, != 1.6.0' }, output: outputs({ o: 1 }) } },
  ],
  ['a version that it excludes', { 'main.tf.json': { terraform: { required_version: '< 1.5' } } }],
  ['the least of a version that it excludes', { 'main.tf.json': { terraform: { required_version: '~> 1.12' } } }],
  [
    'a template in a file of a module',
    {
      'main.tf.json': {
        module: { m: { source: './m' } },
        output: outputs({ o: '${module.m.text}', p: '${path.cwd == abspath(".")}' }),
      },
      'm/m.tf.json': {
        output: outputs({ text: '${templatefile("${path.module}/t.tpl", { n = [1, 2] })}${file("${path.root}/f")}' }),
      },
      'm/t.tpl': '%{ for x in n ~}\n${x};\n%{ endfor ~}\n',
      f: 'root\n',
    },
  ],
  [
    'empty lists, sets and maps with a type',
    {
      'main.tf.json': {
        variable: {
          texts: { type: 'list(string)', default: [] },
          set: { type: 'set(string)', default: [] },
          map: { type: 'map(string)', default: {} },
          numbers: { type: 'map(number)', default: {} },
          objects: { type: 'list(object({a = string}))', default: [] },
          any: { type: 'list(any)', default: [] },
          some: { type: 'list(any)', default: ['a'] },
        },
        output: outputs(Object.fromEntries(besideEmpty.map((each, at) => [`o${at}`, `\${jsonencode(${each})}`]))),
      },
    },
  ],
];

describe.skipIf(missing !== undefined)('a configuration', () => {
  test.each([...configurations])('has the answer that Terraform gives: %s', async (_name, files, given: Given = {}) => {
    await answered(files, given);
  });

  test('most configurations are accepted by both and compared', async () => {
    const found: unknown[] = [];
    for (const [, files, given] of configurations.slice(0, 3)) found.push(await answered(files, given));
    expect(found).toMatchObject([
      { one: 'a-2', all: { shape: { a: 5, b: ['x'] }, strict: 'd', where: 'net|.' } },
      { many: ['n0-1', 'n1-1'], each: { x: 'n0-1-x-1' }, deep: 'n0-1-x-1!-1 net|.' },
      { a: '2', b: '1' },
    ]);
  });
});

test('failed checks and strange values are warnings', async () => {
  folder.write({
    'main.tf.json': { check: { c: { assert: { condition: '${1 > 2}', error_message: 'One is not ${1 + 1}.' } } } },
    'terraform.tfvars': 'other = 1',
  });
  const { notices, said, problems } = await folder.ours();
  expect(problems).toEqual([]);
  expect(notices).toEqual(['check c: One is not 2.']);
  expect(said).toEqual([`${folder.dir}/terraform.tfvars has a value for other, and there is no such variable`]);
});

test('unsupported module sources are refused by name', async () => {
  folder.write({
    'main.tf.json': {
      module: {
        git: { source: 'git::https://example.org/net.git' },
        hcl: { source: './hcl' },
        empty: { source: './empty' },
        self: { source: './self' },
      },
    },
    'hcl/main.tf': 'locals { a = 1 }',
    'empty/x.txt': '',
    'self/m.tf.json': { module: { self: { source: '../self' } } },
  });
  const { problems } = await folder.ours();
  expect(problems.map(({ code, message }) => `${code} ${message}`)).toEqual([
    'E_MODULE module.git: git::https://example.org/net.git is not in a folder here',
    'E_MODULE module.hcl: ./hcl holds main.tf, which is HCL and not read: write it as Terraform JSON',
    'E_MODULE module.empty: ./empty holds no *.tf.json file',
    'E_MODULE module.self: modules call each other deeper than 16',
  ]);
});
