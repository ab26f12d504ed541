// Refusals of the parser with their places; hostile texts end in its own error type, never in another.
import * as fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { evaluate, type Scope } from '../../../../reconciler/manifest/terraform-json/expression/evaluate.ts';
import { parseExpression, parseTemplate } from '../../../../reconciler/manifest/terraform-json/expression/parse.ts';
import { referencesOf } from '../../../../reconciler/manifest/terraform-json/expression/references.ts';
import { ExpressionError } from '../../../../reconciler/manifest/terraform-json/expression/syntax.ts';
import { unknown, type Value } from '../../../../reconciler/manifest/terraform-json/expression/values.ts';

function refusal(
  template: string,
  scope: Scope = { resolve: () => undefined },
): { code: string; at: string; message: string } {
  try {
    evaluate(parseTemplate(template), scope);
  } catch (error) {
    if (!(error instanceof ExpressionError)) throw error;
    return { code: error.code, at: template.slice(error.span.start, error.span.end), message: error.message };
  }
  throw new Error(`${template} was evaluated`);
}

describe('refusals name the construct and its place', () => {
  test.each([
    ['a %{ if true }b', 'E_SYNTAX', '%{ if'],
    ['a %{ endfor }', 'E_SYNTAX', '%{ endfor'],
    ['%{ unless true }a', 'E_SYNTAX', '%{ unless'],
    ['a ${~ 1 ', 'E_SYNTAX', '${~ 1 '],
    ['${<<EOT\nx\n}', 'E_SYNTAX', '<<EOT\n'],
    ['${a.*.b}', 'E_REFERENCE', 'a'],
    ['${max(5...)}', 'E_TYPE', 'max(5...)'],
    ['${a::b}', 'E_SYNTAX', 'a'],
    ['${provider::other::parse_size("1GB")}', 'E_PROVIDER_FUNCTION', 'provider::other::parse_size("1GB")'],
    ['${file("x")}', 'E_VALUE', 'file("x")'],
    ['${timestamp()}', 'E_FUNCTION', 'timestamp()'],
    ['${uper("a")}', 'E_FUNCTION', 'uper("a")'],
    ['${var.x}', 'E_REFERENCE', 'var.x'],
    ['${9007199254740993}', 'E_BIG_NUMBER', '9007199254740993'],
    ['x ${1 +}', 'E_SYNTAX', '}'],
    ['${"a}', 'E_SYNTAX', '"a}'],
    ['${"\\q"}', 'E_SYNTAX', '\\q'],
    ['${1', 'E_SYNTAX', '${1'],
    ['${[1][2]}', 'E_VALUE', '[1][2]'],
    ['${"a" * 2}', 'E_TYPE', '"a" * 2'],
    ['${upper()}', 'E_TYPE', 'upper()'],
    ['${jsondecode("{")}', 'E_VALUE', 'jsondecode("{")'],
  ])('%s', (template, code, at) => {
    expect(refusal(template)).toMatchObject({ code, at });
  });

  test('an unknown function is reported with the nearest name', () => {
    expect(refusal('${uper("a")}').message).toContain('did you mean upper?');
  });

  test('try() does not hide unsupported features', () => {
    expect(refusal('${try(timestamp(), 1)}').code).toBe('E_FUNCTION');
    expect(refusal('${try(nothing.there, 1)}').code).toBe('E_REFERENCE');
  });
});

describe('values that are not known yet', () => {
  const scope: Scope = { resolve: ([name]) => (name === 'later' ? { value: unknown, used: 1 } : undefined) };
  const value = (text: string): Value => evaluate(parseExpression(text), scope);
  test.each([
    'later',
    '"a-${later}"',
    'later + 1',
    'later.a.b',
    'later[0]',
    'upper(later)',
    'later ? 1 : 2',
    '[for x in later : x]',
    'later == 1',
    '!later',
  ])('%s is not known', (text) => expect(value(text)).toBe(unknown));
  test('keep their place in a list or object, and do not hide known values', () => {
    expect(value('[1, later]')).toEqual([1, unknown]);
    expect(value('{a = later, b = 2}.b')).toBe(2);
    expect(value('length([later, later])')).toBe(2);
    expect(value('false && later')).toBe(false);
    expect(value('true || later')).toBe(true);
    expect(value('1 == 2 && later')).toBe(false);
  });
});

describe('references', () => {
  test('are all found, except names defined by for expressions', () => {
    const text = '[for k, v in var.x : "${v.y}-${local.z}" if k != gantry_network.a-b.name] == upper(c["d"].e)[*].f';
    expect(referencesOf(parseExpression(text)).map((names) => names.join('.'))).toEqual([
      'var.x',
      'gantry_network.a-b.name',
      'local.z',
      'c',
    ]);
  });
});

describe('hostile texts', () => {
  test('any text ends in a value or in an ExpressionError', () => {
    const pieces = fc.constantFrom(
      '${',
      '}',
      '"',
      '%{',
      '$${',
      '[',
      ']',
      '(',
      ')',
      '{',
      '*',
      '.',
      ',',
      'for',
      ' in ',
      ':',
      '=>',
      'if ',
      'a',
      '1',
      '...',
      '?',
      '!',
      '-',
      '\\',
      '~',
      '=',
      '\n',
      '__proto__',
      'constructor',
    );
    fc.assert(
      fc.property(fc.array(pieces, { maxLength: 25 }), (parts) => {
        const text = parts.join('');
        for (const read of [parseTemplate, parseExpression]) {
          try {
            evaluate(read(text), { resolve: () => undefined });
          } catch (error) {
            if (!(error instanceof ExpressionError)) throw error;
          }
        }
      }),
      { numRuns: 2000 },
    );
  });

  test('deep nesting is refused, not overrun', () => {
    for (const [open, close] of [
      ['(', ')'],
      ['[', ']'],
      ['!', ''],
      ['"${', '}"'],
      ['a ? b : ', ''],
    ] as const) {
      const text = `\${${open.repeat(50_000)}1${close.repeat(50_000)}}`;
      expect(() => parseTemplate(text)).toThrow(ExpressionError);
    }
  });

  test('names of JavaScript built-ins are ordinary names', () => {
    expect(
      evaluate(parseExpression('{__proto__ = 1, constructor = 2}.constructor'), { resolve: () => undefined }),
    ).toBe(2);
    expect(refusal('${{a = 1}.constructor}').code).toBe('E_VALUE');
    expect(refusal('${toString("x")}').code).toBe('E_FUNCTION');
    expect(refusal('${constructor("x")}').code).toBe('E_FUNCTION');
  });
});
