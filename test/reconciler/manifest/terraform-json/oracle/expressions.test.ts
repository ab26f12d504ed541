// The evaluator against Terraform's own answers: hand-picked expressions that are easy to get wrong, and several hundred
// generated ones. Terraform gets them as outputs of a configuration without providers.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { evaluate, type Scope } from '../../../../../reconciler/manifest/terraform-json/expression/evaluate.ts';
import { toPlain } from '../../../../../reconciler/manifest/terraform-json/expression/json-text.ts';
import { parseTemplate } from '../../../../../reconciler/manifest/terraform-json/expression/parse.ts';
import type { Value } from '../../../../../reconciler/manifest/terraform-json/expression/values.ts';
import { oracleMissing, TerraformOracle } from '../../../../support/terraform/oracle.ts';

const missing = oracleMissing('expressions against Terraform');

const locals: Readonly<Record<string, Value>> = {
  name: 'web',
  count: 3,
  on: true,
  none: null,
  names: ['b', 'a', 'c'],
  ports: { http: 80, https: 443 },
  nested: {
    list: [
      { id: 1, tags: ['x'] },
      { id: 2, tags: [] },
    ],
    'a-b': { c: 'd' },
  },
};
const scope: Scope = {
  resolve: ([first, second = '']) =>
    first === 'local' && Object.hasOwn(locals, second) ? { value: locals[second] ?? null, used: 2 } : undefined,
};
const ours = (template: string): unknown => {
  try {
    return { value: toPlain(evaluate(parseTemplate(template), scope)) };
  } catch (error) {
    return { error: (error as Error).message };
  }
};

const oracle = new TerraformOracle(locals);

const chosen = [
  '1 == "1"',
  '"a" == "a"',
  '1 + 2 * 3',
  '(1 + 2) * 3',
  '7 % 3',
  '-7 % 3',
  '7 / 2',
  '0.1 + 0.2',
  '10 / 4',
  '-local.count',
  '!local.on',
  'true && false || true',
  '1 < 2 == true',
  '"5" + 1',
  '"10" > 9',
  'local.count > 2 ? "many" : "one"',
  'local.on ? 1 : "a"',
  'local.none == null',
  'local.names',
  'local.names[1]',
  'local.names[*]',
  'local.nested.list[*].id',
  'local.nested.list[*].tags[0]',
  'local.nested["a-b"].c',
  'local.nested.a-b.c',
  'local.ports["http"]',
  'local.ports.https',
  'local.none[*]',
  'local.name[*]',
  '[for n in local.names : upper(n)]',
  '[for i, n in local.names : "${i}-${n}"]',
  '{for k, v in local.ports : k => v + 1}',
  '{for n in local.names : n => length(n) if n != "a"}',
  '[for k, v in local.ports : k]',
  '[for x in [] : x]',
  '{a = 1, "b" : 2, (local.name) = 3, "c-${local.name}" = 4}',
  '[1, true, "x", null]',
  '[]',
  '{}',
  'join(",", ["a", "b"])',
  'join("-", ["a"], ["b", "c"])',
  'split(",", "a,b,,c")',
  'split(",", "")',
  'split("", "abc")',
  'replace("a.b.c", ".", "-")',
  'format("%s-%03d-%5.2f|%-5s|%5s|%t|%q|%v", "a", 7, 3.14159, "b", "c", true, "q", [1, "x"])',
  'format("%x %X %o %b %+d %%", 255, 255, 8, 5, 3)',
  'format("%e", 12345.678)',
  'format("%s", 1.5)',
  'format("%v", {b = 1, a = null})',
  'format("%05s", "ab")',
  'format("%.2s", "abcdef")',
  'format("%[2]s %[1]s", "a", "b")',
  'formatlist("%s-%d", ["a", "b"], [1, 2])',
  'formatlist("%s!", ["a", "b"])',
  'format("%d", 3.7)',
  'format("%s")',
  'format("a", 1)',
  'trimspace("  a b \\n")',
  'length("héé")',
  'length([1, 2])',
  'length({a = 1})',
  'length(toset(["a", "a"]))',
  'element(local.names, 4)',
  'lookup(local.ports, "ftp", 21)',
  'lookup(local.ports, "http", 21)',
  'lookup(local.ports, "ftp")',
  'keys(local.ports)',
  'values(local.ports)',
  'keys({b = 1, a = 2, B = 3})',
  'merge(local.ports, {http = 8080, x = 1})',
  'merge({a = 1}, null, {b = 2})',
  'concat([1], [2, 3], [])',
  'contains(local.names, "a")',
  'contains(["1"], 1)',
  'coalesce(null, "", "x")',
  'coalesce("", "b")',
  'coalesce(null, 1, "a")',
  'toset(["b", "a", "b"])',
  'toset([3, 1, 2, 10])',
  'tolist(toset(["z", "y"]))',
  'tolist([1, "a"])',
  'tomap({a = 1, b = "x"})',
  'toset([1, "1", true])',
  'tostring(1.50)',
  'tostring(true)',
  'tonumber("12.50")',
  'tonumber("x")',
  'tobool("true")',
  'tobool("yes")',
  'tobool(1)',
  'jsonencode({b = [1, true, null], a = "<&>\\""})',
  'jsonencode("é\\u2028")',
  'jsondecode("{\\"a\\":[1,2.5,null]}")',
  'jsondecode("nope")',
  'jsonencode(1.0)',
  'jsonencode(toset(["b", "a"]))',
  'base64encode("héllo")',
  'base64decode("aGk=")',
  'base64decode("!")',
  'min(3, 1, 2)',
  'max(3, "10")',
  'abs(-2.5)',
  'floor(-1.5)',
  'ceil(1.2)',
  'pow(2, 10)',
  'signum(-3)',
  'parseint("ff", 16)',
  'sum([1, 2.5])',
  'try(local.nested.missing, "fallback")',
  'try(local.names[9], local.names[0])',
  'can(local.nested.missing)',
  'can(local.name)',
  'can(tonumber("x"))',
  'try(tonumber("x"), 0)',
  'try(null, 1)',
  'compact(["a", "", "b"])',
  'distinct(["a", "b", "a"])',
  'flatten([[1, [2]], [], [3]])',
  'reverse([1, 2, 3])',
  'sort(["b", "B", "a", "é"])',
  'one([])',
  'one([1])',
  'one([1, 2])',
  'range(3)',
  'range(1, 10, 3)',
  'range(3, 0)',
  'range(0)',
  'slice([1, 2, 3, 4], 1, 3)',
  'index(["a", "b"], "b")',
  'zipmap(["a", "b"], [1, 2])',
  'chunklist([1, 2, 3], 2)',
  'setunion(["a"], ["b", "a"])',
  'setintersection(["a", "b"], ["b"])',
  'setsubtract(["a", "b"], ["b"])',
  'setintersection([1, true], ["1"])',
  'local.on ? ["b", "a", "b"] : toset(["c"])',
  'local.on ? [] : toset(["c"])',
  'local.on ? [2, 1] : toset(["c"])',
  'local.on ? toset(["b", "a"]) : []',
  '[for k in (local.on ? [for n in local.names : n] : toset([])) : k]',
  'format("%.2f|%.1f|%.0f|%.0f|%.0f|%.2f|%.2f", 0.125, 0.25, 0.5, 1.5, -2.5, 0.375, 2.675)',
  'setunion(["a"], [1, true])',
  'setsubtract([1], ["1"])',
  'alltrue([true, "true"])',
  'anytrue([])',
  'alltrue([])',
  'title("hello wORLD foo-bar")',
  'upper("straße")',
  'substr("hello", 1, 3)',
  'substr("hello", -3, 2)',
  'substr("hello", 1, -1)',
  'trim("xxaxx", "x")',
  'trimprefix("web-1", "web-")',
  'trimsuffix("a.txt", ".txt")',
  'startswith("abc", "ab")',
  'endswith("abc", "bc")',
  'strcontains("abc", "b")',
  'strrev("abc")',
  'chomp("a\\n\\n")',
  'indent(2, "a\\nb")',
  'md5("a")',
  'sha256("a")',
  'base64sha256("a")',
  'sha1("a")',
  'sha512("a")',
  '"${local.name}"',
  '"${local.count}"',
  '"x${local.count}y"',
  '"${local.on}!"',
  '"a$${b}"',
  '"tab\\tq\\"\\\\"',
  '"a${local.none}b"',
  '1 / 0',
  '[1, 2][5]',
  'local.ports.ftp',
  'nosuch("x")',
  '"a" + 1',
  '{a = 1}.a',
  '[for x in 5 : x]',
  'true ? [1] : ["a"]',
  'true ? {a = 1} : {b = 2}',
  '5 > null',
  'null == null',
  '[1] == [1]',
  '{a = 1} == {a = 1}',
  '["1"] == [1]',
  '"a" != "b"',
  '1.0 == 1',
  '-(-1)',
  '1e3',
  '1.5e-2',
  '1e3 + 0.5',
  '100000 * 100000',
  '0.1 * 3',
  '1.1 * 1.1',
  '3 - 2.9',
  '"${-0}|${0 * -1}|${-0 + 0}"',
  'jsonencode([-0, 0])',
  '"${ceil(-0.5)}|${floor(-0)}|${-7 % 7}|${abs(-0)}|${signum(-0)}|${parseint("-0", 10)}"',
  'format("%d|%s|%v|%.1f|%g|%+d", -0, -0, -0, -0, -0, -0)',
  'title("ǆ ǲa ნა ᾳ ßa")',
  'upper("ǆ ნა ᾀ ᾳ ῃ ß")',
  'merge(tomap({a = 1}), tomap({b = "x"})) == {a = 1, b = "x"}',
  'merge(tomap({a = 1}), tomap({b = 2})) == {a = 1, b = 2}',
  'values(merge(tomap({a = 1}), tomap({b = "x"})))',
].map((each) =>
  each.startsWith('"') && each.endsWith('"') && !each.slice(1, -1).includes(' ') ? `\${${each}}` : `\${${each}}`,
);

type Kinds = 'number' | 'text' | 'truth' | 'list' | 'map' | 'any';
const spell = (
  tie: (kind: Kinds) => fc.Arbitrary<string>,
  parts: readonly (Kinds | fc.Arbitrary<string>)[],
  write: (...texts: string[]) => string,
): fc.Arbitrary<string> =>
  fc.tuple(...parts.map((part) => (typeof part === 'string' ? tie(part) : part))).map((texts) => write(...texts));
const pick = (...texts: readonly string[]): fc.Arbitrary<string> => fc.constantFrom(...texts);

/** Generates by kind, so that most expressions have a value; `any` mixes kinds. */
const expressions = fc.letrec<Record<Kinds, string>>((tieAll) => {
  const tie = (kind: Kinds): fc.Arbitrary<string> => tieAll(kind);
  const of = (
    parts: readonly (Kinds | fc.Arbitrary<string>)[],
    write: (...texts: string[]) => string,
  ): fc.Arbitrary<string> => spell(tie, parts, write);
  const depth = { maxDepth: 2, depthSize: 'small' as const, withCrossShrink: true };
  const choice = (kind: Kinds): fc.Arbitrary<string> => of(['truth', kind, kind], (a, b, c) => `(${a} ? ${b} : ${c})`);
  return {
    number: fc.oneof(
      depth,
      fc.oneof(
        fc.integer({ min: 0, max: 30 }).map(String),
        pick('0.5', '2.25', '0.1', '"7"', 'local.count', 'local.ports.http'),
      ),
      of(['number', pick('+', '-', '*'), 'number'], (a, op, b) => `(${a} ${op} ${b})`),
      of(['number', pick('% 3', '% 7', '/ 4', '/ 2')], (a, op) => `(${a} ${op})`),
      of([pick('abs', 'floor', 'ceil', 'signum', 'tonumber', '-'), 'number'], (name, a) => `${name}(${a})`),
      of([pick('min', 'max'), 'number', 'number'], (name, a, b) => `${name}(${a}, ${b})`),
      of([pick('list', 'text', 'map')], (kind) => kind)
        .chain((kind) => tie(kind as Kinds))
        .map((a) => `length(${a})`),
      choice('number'),
    ),
    text: fc.oneof(
      depth,
      pick('local.name', '"a"', '"x-${local.name}"', 'local.names[0]', '""', '"é b"', '"1.5"', 'local.nested["a-b"].c'),
      of(['any', 'any'], (a, b) => `"\${${a}}-\${${b}}"`),
      of(
        [pick('upper', 'lower', 'title', 'trimspace', 'strrev', 'base64encode', 'tostring', 'md5'), 'text'],
        (name, a) => `${name}(${a})`,
      ),
      of([pick('trim', 'trimprefix', 'trimsuffix'), 'text', 'text'], (name, a, b) => `${name}(${a}, ${b})`),
      of(['text', 'list'], (a, b) => `join(${a}, ${b})`),
      of(['text', 'text', 'text'], (a, b, c) => `replace(${a}, ${b}, ${c})`),
      of([pick('%s', '%5s|', '%v', '%q', '%-4s|'), 'text'], (pattern, a) => `format("${pattern}", ${a})`),
      of([pick('%d', '%03d', '%.2f', '%v', '%x'), 'number'], (pattern, a) => `format("${pattern}", ${a})`),
      of(['any'], (a) => `jsonencode(${a})`),
      choice('text'),
    ),
    truth: fc.oneof(
      depth,
      pick('true', 'false', 'local.on', '"true"'),
      of(['number', pick('<', '<=', '>', '>='), 'number'], (a, op, b) => `(${a} ${op} ${b})`),
      of(['any', pick('==', '!='), 'any'], (a, op, b) => `(${a} ${op} ${b})`),
      of(['truth', pick('&&', '||'), 'truth'], (a, op, b) => `(${a} ${op} ${b})`),
      of(['truth'], (a) => `(!${a})`),
      of([pick('startswith', 'endswith', 'strcontains'), 'text', 'text'], (name, a, b) => `${name}(${a}, ${b})`),
      of(['list', 'any'], (a, b) => `contains(${a}, ${b})`),
      of(['any'], (a) => `can(${a})`),
    ),
    list: fc.oneof(
      depth,
      pick('local.names', 'local.nested.list[*].id', '[1, 2, 2]', '["p", "q"]', '[]', 'local.none[*]'),
      of(['any', 'any'], (a, b) => `[${a}, ${b}]`),
      of(['text', 'text'], (a, b) => `[${a}, ${b}]`),
      of(
        [pick('reverse', 'distinct', 'flatten', 'tolist', 'toset', 'compact', 'sort'), 'list'],
        (name, a) => `${name}(${a})`,
      ),
      of(
        [pick('concat', 'setunion', 'setintersection', 'setsubtract'), 'list', 'list'],
        (name, a, b) => `${name}(${a}, ${b})`,
      ),
      of([pick('keys', 'values'), 'map'], (name, a) => `${name}(${a})`),
      of(['text', 'text'], (a, b) => `split(${a}, ${b})`),
      of(
        ['list', pick('v', '"<${v}>"', '[v]', 'length(v)'), pick('', ' if v != null', ' if can(v + 1)')],
        (a, b, c) => `[for v in ${a} : ${b}${c}]`,
      ),
      of(['map', pick('k', 'v', '"${k}!"')], (a, b) => `[for k, v in ${a} : ${b}]`),
      of(['list'], (a) => `${a}[*]`),
      choice('list'),
    ),
    map: fc.oneof(
      depth,
      pick('local.ports', '{k = "v"}', '{}', '{a = 1, "c d" = true}'),
      of(['any', 'any'], (a, b) => `{a = ${a}, b = ${b}}`),
      of(['text', 'any'], (a, b) => `{(${a}) = ${b}}`),
      of(['map', 'map'], (a, b) => `merge(${a}, ${b})`),
      of(['map', pick('v', 'k', '[v]')], (a, b) => `{for k, v in ${a} : "\${k}x" => ${b}}`),
      of(['list'], (a) => `{for i, v in ${a} : i => v}`),
      of(['map'], (a) => `tomap(${a})`),
      choice('map'),
    ),
    any: fc.oneof(
      tie('number'),
      tie('text'),
      tie('truth'),
      tie('list'),
      tie('map'),
      pick('null', 'local.none', 'local.nested'),
      of(['any', 'any'], (a, b) => `try(${a}, ${b})`),
      of(['any', 'any'], (a, b) => `coalesce(${a}, ${b})`),
      of(['map', pick('"a"', '"k"', 'local.name'), 'any'], (a, b, c) => `lookup(${a}, ${b}, ${c})`),
      of(['list', 'number'], (a, b) => `element(${a}, ${b})`),
      of(['list', pick('0', '1')], (a, b) => `${a}[${b}]`),
      choice('any'),
    ),
  };
});

/**
 * Ignores digits beyond 15, which JSON readers lose. Without `isTyped`, "1" equals 1: only Terraform knows the static type (as of an
 * empty list of strings), and the API has only texts.
 */
function close(a: unknown, b: unknown, isTyped: boolean): boolean {
  const isPlain = [a, b].every((side) => side !== null && typeof side !== 'object');
  if (!isTyped && isPlain && typeof a !== typeof b) return String(a) === String(b);
  if (typeof a === 'number' && typeof b === 'number') return a === b || Math.abs(a - b) <= Math.abs(b) * 1e-14;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return a === b;
  const [x, y] = [Object.entries(a), Object.entries(b)];
  return (
    Array.isArray(a) === Array.isArray(b) &&
    x.length === y.length &&
    x.every(([key, value]) => Object.hasOwn(b, key) && close(value, (b as Record<string, unknown>)[key], isTyped))
  );
}

function disagreements(templates: readonly string[], isTyped: boolean): readonly string[] {
  const answers = oracle.answers(templates);
  // Too many refusals would prove little.
  expect(answers.filter((answer) => answer !== undefined).length).toBeGreaterThan(templates.length / 3);
  return templates.flatMap((template, index) => {
    const mine = ours(template) as { readonly value?: unknown; readonly error?: string };
    const answer = answers[index];
    // Without static types, ours may accept more but never differs.
    if (answer === undefined)
      return isTyped && mine.error === undefined
        ? [`${template}: Terraform refuses, ours ${JSON.stringify(mine.value)}`]
        : [];
    if (mine.error !== undefined)
      return [`${template}: Terraform ${JSON.stringify(answer.value)}, ours refuses: ${mine.error}`];
    return close(mine.value, answer.value, isTyped)
      ? []
      : [`${template}: Terraform ${JSON.stringify(answer.value)}, ours ${JSON.stringify(mine.value)}`];
  });
}

describe.skipIf(missing !== undefined)('expressions', () => {
  test('expressions that are easy to get wrong have the values that Terraform gives them', { timeout: 300_000 }, () => {
    expect(disagreements(chosen, true)).toEqual([]);
  });

  test('expressions that are generated have the values that Terraform gives them', { timeout: 300_000 }, () => {
    const seed = Number(process.env['SEED'] ?? 20_261);
    console.log(`expressions: seed ${seed}`);
    const templates = fc
      .sample(expressions.any, { numRuns: Number(process.env['RUNS'] ?? 500), seed })
      .map((each) => `\${${each}}`);
    const found = disagreements(templates, false);
    for (const each of found) console.log(`differs: ${each}`);
    // Refusals are explicit. Silent differences come from Terraform's static types (of empty lists, of defaults) and from fractions with
    // 150 digits: one to three in a thousand.
    const silent = found.filter((each) => !each.includes(', ours refuses: '));
    expect(silent.length, `SEED=${seed}`).toBeLessThanOrEqual(Math.ceil(templates.length / 200));
    expect(found.length, `SEED=${seed}`).toBeLessThanOrEqual(templates.length / 100);
  });
});
