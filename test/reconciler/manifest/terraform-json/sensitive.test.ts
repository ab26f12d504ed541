// Messages hide sensitive values; circles, booleans in quotes, and objects whose parts only an apply knows.
import { describe, expect, test } from 'vitest';
import type { Json } from '../../../../reconciler/core/documents/document.ts';
import { loadTerraform, type TerraformLoad } from '../../../../reconciler/manifest/terraform-json/load-terraform.ts';

const secret = 'hunter2';
const load = (value: Json): TerraformLoad =>
  loadTerraform(
    [{ file: 'cdk.tf.json', folder: '/work', value }],
    new Map(value !== null && typeof value === 'object' && 'variable' in value ? [['pw', { text: secret }]] : []),
  );
const messages = (value: Json): readonly string[] => load(value).problems.map(({ message }) => message);
const web = (body: Readonly<Record<string, Json>>) => ({
  resource: { gantry_container: { web: { name: 'web', source: { type: 'none' }, ...body } } },
});
const withSecret = (body: Readonly<Record<string, Json>>, type = 'string'): Json => ({
  variable: { pw: { type, sensitive: true } },
  ...web(body),
});

describe('messages hide sensitive values', () => {
  test.each([
    ['a function', { config: { a: '${tonumber(var.pw)}' } }, 'it cannot be evaluated; the reason is hidden'],
    ['a key', { config: { a: '${{ x = 1 }[var.pw]}' } }, 'it cannot be evaluated; the reason is hidden'],
    [
      'each.value',
      { for_each: { a: '${var.pw}' }, config: { a: '${timeadd(each.value, "1h")}' } },
      'it cannot be evaluated',
    ],
    ['an argument', { running: '${var.pw}' }, 'running: the value, which is sensitive, is of another type'],
    [
      'the message of a condition',
      { lifecycle: { precondition: { condition: '${1 > 2}', error_message: 'bad ${var.pw}' } } },
      'a precondition does not hold',
    ],
  ] as const)('%s is reported without it', (_name, body, expected) => {
    const found = messages(withSecret(body));
    expect(found).toEqual([expect.stringContaining(expected)]);
    expect(found.join('\n')).not.toContain(secret);
  });

  test('a variable with another type, or with a rule that it breaks, is reported without it', () => {
    expect(messages(withSecret({}, 'number'))).toEqual([
      'the variable pw: its value, which is sensitive, does not have its type',
    ]);
    const validation = { condition: '${length(var.pw) > 20}', error_message: 'bad ${var.pw}' };
    expect(messages({ variable: { pw: { type: 'string', sensitive: true, validation } }, ...web({}) })).toEqual([
      'the variable pw: it breaks its rule',
    ]);
  });

  test('a message about a value that is not sensitive has it', () => {
    expect(messages(web({ config: { a: '${tonumber("x")}' } }))).toEqual([
      'tonumber(): a number is wanted, not the string "x"',
    ]);
  });
});

test('booleans in quotes count, as for Terraform', () => {
  const { documents } = load({
    variable: { pw: { type: 'string', sensitive: 'true' } },
    ...web({ config: { 'user.a': '${var.pw}' }, lifecycle: { prevent_destroy: 'true' } }),
  });
  expect(documents.map(({ value, sensitive }) => [value['manage'], sensitive])).toEqual([
    [{ protect: true }, ['config']],
  ]);
  const certificate = { name: 'ci', content: 'x', restricted: 'true', projects: ['web'] };
  expect(load({ resource: { incus_certificate: { ci: certificate } } }).documents[0]?.value).toMatchObject({
    restricted: true,
    projects: ['web'],
  });
  const removed = { removed: { from: 'gantry_container.old', lifecycle: { destroy: 'false' } } };
  expect(load(removed).problems.map(({ code }) => code)).toEqual(['E_REMOVED']);
});

test('a circle of arguments is reported', () => {
  const own = messages(web({ config: { a: '${gantry_container.web.config.b}' } }));
  expect(own).toEqual([
    expect.stringContaining('a circle of references: gantry_container.web -> gantry_container.web'),
  ]);
});

test('functions that pass elements on do not need to know every part of them', () => {
  const names = (expression: string): unknown =>
    load({
      resource: {
        gantry_container: { web: { for_each: { a: 1, b: 2 }, name: 'web-${each.key}', source: { type: 'none' } } },
      },
      output: { names: { value: expression } },
    }).outputs.get('names')?.value;
  const all = 'gantry_container.web';
  expect(names(`\${values(${all})[*].name}`)).toEqual(['web-a', 'web-b']);
  expect(names(`\${keys(${all})}`)).toEqual(['a', 'b']);
  expect(names(`\${element(values(${all}), 3).name}`)).toBe('web-b');
  expect(names(`\${lookup(${all}, "a").name}`)).toBe('web-a');
  expect(names(`\${[for c in reverse(concat(values(${all}), [])) : c.name]}`)).toEqual(['web-b', 'web-a']);
  expect(names(`\${flatten([slice(values(${all}), 0, 1)])[0].name}`)).toBe('web-a');
  expect(names(`\${one(slice(values(${all}), 1, 2)).name}`)).toBe('web-b');
  expect(names(`\${zipmap(["x", "y"], values(${all})).x.name}`)).toBe('web-a');
  expect(names(`\${flatten([${all}["a"].devices, ["x"]])}`)).toBeUndefined();
});
