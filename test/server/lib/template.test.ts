// Templates of images: the features of the language, and that hostile templates reach nothing, loop endlessly or grow without limit.
import { array, assert, constantFrom, property } from 'fast-check';
import { describe, expect, test } from 'vitest';
import { Callable, renderTemplate, TemplateError } from '../../../server/lib/template/render.ts';

const config: Record<string, string> = { 'user.a': 'one', 'user.empty': '', 'user.text': 'first\nsecond' };
const context = {
  trigger: 'start',
  path: '/etc/hostname',
  container: { name: 'web1', privileged: 'false' },
  config,
  devices: { eth0: { type: 'nic', parent: 'br0' }, root: { type: 'disk', path: '/' } },
  properties: { default: 'fallback <&>' },
  config_get: new Callable(
    ([key = '', fallback = '']) => (typeof key === 'string' ? config[key] : undefined) ?? fallback,
  ),
};
const render = (source: string): string => renderTemplate(source, context);

describe('the language', () => {
  test.each([
    ['plain { text } with % and #', 'plain { text } with % and #'],
    ['{{ container.name }}\n', 'web1\n'],
    ['{{ properties.default }}', 'fallback <&>'],
    ['{{ nothing }}{{ container.nothing }}{{ nothing.at.all }}', ''],
    ['{{ config["user.a"] }}', 'one'],
    ['{{ config_get("user.a", "x") }}/{{ config_get("user.b", properties.default) }}', 'one/fallback <&>'],
    ['{% if config_get("user.b", "") == "" %}unset{% else %}set{% endif %}', 'unset'],
    ['{% if trigger == "create" %}1{% elif trigger == "start" %}2{% else %}3{% endif %}', '2'],
    ['{% if nothing == "" and not config.nothing %}yes{% endif %}', 'yes'],
    ['{% if "eth0" in devices && "x" not in devices %}yes{% endif %}', 'yes'],
    ['{% if container.name is defined and x is not defined %}yes{% endif %}', 'yes'],
    ['{% for key, device in devices %}{{ key }}={{ device.type }};{% endfor %}', 'eth0=nic;root=disk;'],
    [
      '{% for key, device in devices.items() %}{{ loop.index }}{{ key }}{% if not loop.last %},{% endif %}{% endfor %}',
      '1eth0,2root',
    ],
    ['{% for x in [] %}x{% else %}none{% endfor %}{% for x in none %}x{% empty %}none{% endfor %}', 'nonenone'],
    ['{% for n in range(3) %}{{ forloop.Counter }}{% endfor %}', '123'],
    ['{% set who = "me" %}{{ who|upper }} {{ who | default("x") }} {{ nobody|default:"you" }}', 'ME me you'],
    [
      '{% for c in "aä" %}{{ loop.index }}{{ c }}{% empty %}none{% endfor %}{% for c in "" %}x{% empty %}-{% endfor %}',
      '1a2ä-',
    ],
    [
      '{{ "big WORDS"|title }} {{ "2"|add:3 }} {{ "a"|add("b") }} {{ "abcd"|slice:"1:-1" }} {{ [1, 2, 3]|slice:":2" }}',
      'Big Words 5 ab bc 1, 2',
    ],
    ['{{ config_get("user.a")|yesno:"on,off" }}{{ nothing|yesno }}', 'onno'],
    ['{{ "a,b"|split(",")|join("+") }} {{ "a-b"|replace("-", "_") }} {{ [3, 1]|sort|first }}', 'a+b a_b 1'],
    ['{{ config_get("user.text")|indent(2) }}', 'first\n  second'],
    [
      '{{ 1 + 2 * 3 - 4 / 2 }} {{ 7 // 2 }} {{ 7 % 4 }} {{ -2 }} {{ "a" ~ 1 ~ "b" }} {{ (1 + 2) * 3 }}',
      '5 3 3 -2 a1b 9',
    ],
    ['{{ "yes" if container.privileged == "true" else "no" }}', 'no'],
    ['a  {%- if true -%}  b  {%- endif -%}  c{# gone #}d', 'abcd'],
    ['{% raw %}{{ not }} {% looked %} at{% endraw %}!', '{{ not }} {% looked %} at!'],
    ['{% comment %}{{ ( }}{% endcomment %}{% autoescape off %}{{ "<" }}{% endautoescape %}', '<'],
    ['{{ \'it\'\'s\' if false }}{{ "tab\\t\\"q\\"" }}', 'tab\t"q"'],
    ['{{ true }} {{ 1 == 1 }} {{ none }}', 'True True '],
  ])('%j', (source, expected) => {
    if (source.includes("'it''s'")) expect(() => render(source)).toThrow(TemplateError);
    else expect(render(source)).toBe(expected);
  });

  test.each([
    ['a\n{{ b', 'line 2: }} is missing'],
    ['{% if x %}', 'line 1: {% if %} has no {% endif %}'],
    ['\n\n{% endif %}', 'line 3: there is no statement {% endif %} here'],
    ['{{ x | nosuch }}', 'line 1: there is no filter nosuch'],
    ['{{ x( }}', 'line 1: a value is missing before the end'],
    ['{{ 1 / 0 }}', 'line 1: division by zero'],
    ['{% include "/etc/shadow" %}', 'line 1: there is no statement {% include %} here'],
    ['{% import "x" as y %}', 'line 1: there is no statement {% import %} here'],
    ['{% raw %}', 'line 1: {% raw %} has no {% endraw %}'],
    ['{{ container.name() }}', 'line 1: something is called that cannot be called'],
  ])('%j renders as %s', (source, message) => {
    expect(() => render(source)).toThrow(TemplateError);
    expect(() => render(source)).toThrow(message);
  });
});

describe('hostile templates', () => {
  test.each(['constructor', '__proto__', 'prototype', 'toString', 'valueOf', 'hasOwnProperty', 'call', 'apply'])(
    'reach no %s',
    (name) => {
      for (const of of [
        'container',
        'devices',
        'config',
        'config_get',
        'range',
        '"text"',
        '[1]',
        '5',
        'true',
        'devices.items',
      ]) {
        for (const source of [`{{ ${of}.${name} }}`, `{{ ${of}["${name}"] }}`, `{{ ${of}["${name}"]["${name}"] }}`]) {
          expect(renderOrFail(source), source).toBe('');
        }
      }
      expect(render(`{{ ${name} }}{% set ${name} = 1 %}{{ container.${name} }}`)).toBe('');
      expect(() => render(`{{ range.${name}("return process")() }}`)).toThrow(TemplateError);
    },
  );

  test.each(['process', 'require', 'globalThis', 'global', 'this', 'self', 'Function', 'eval', 'Buffer', 'import'])(
    'do not know %s',
    (name) => expect(renderOrFail(`{{ ${name} }}`)).toBe(''),
  );

  const tenTimes = (start: string, step: string): string => start + step.repeat(60);
  test.each([
    ['loops in loops', '{% for a in range(10000) %}{% for b in range(10000) %}x{% endfor %}{% endfor %}'],
    ['doubling text', tenTimes('{% set x = "aaaaaaaaaa" %}', '{% set x = x ~ x %}')],
    ['doubling lists', tenTimes('{% set x = [1, 2, 3] %}', '{% set x = x + x %}')],
    ['shared lists', `${tenTimes('{% set x = [1] %}', '{% set x = [x, x] %}')}{{ x }}`],
    ['deep lists', '{% set x = [] %}{% for a in range(10000) %}{% set x = [x] %}{% endfor %}{{ x }}'],
    ['growing replacements', `{% set x = "a" %}${'{% set x = x|replace("a", "aaaaaaaaaaaaaaaa") %}'.repeat(20)}`],
    [
      'work on long text',
      `{% set x = "${'a'.repeat(1000)}" %}${'{% set x = x ~ x %}'.repeat(9)}{% for i in range(9999) %}{% set y = x|upper %}{% endfor %}`,
    ],
    ['long ranges', '{{ range(1000000000) }}'],
    [
      'long output',
      '{% for a in range(9999) %}{{ "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" }}{% endfor %}',
    ],
    ['deep parentheses', `{{ ${'('.repeat(100_000)} }}`],
    ['long chains', `{{ 1${'+1'.repeat(100_000)} }}`],
    ['long members', `{{ a${'.a'.repeat(100_000)} }}`],
    ['many nots', `{{ ${'-'.repeat(100_000)}a ${'('.repeat(5000)} }}`],
    ['deep blocks', '{% if true %}'.repeat(100_000)],
  ])('are stopped: %s', (_what, source) => {
    const before = process.cpuUsage();
    expect(() => render(source)).toThrow(TemplateError);
    // Seconds of work would be endless here; the real duration on this machine does not matter.
    expect(process.cpuUsage(before).user).toBeLessThan(4_000_000);
  });

  test('any text renders, or fails with a TemplateError', () => {
    const part = constantFrom(
      '{{',
      '}}',
      '{%',
      '%}',
      '{#',
      '#}',
      '-',
      ' if ',
      ' for ',
      ' in ',
      ' endif ',
      ' endfor ',
      ' else ',
      'x',
      '"',
      "'",
      '\\',
      '|',
      '.',
      '(',
      ')',
      '[',
      ']',
      ',',
      ' set x = ',
      '1',
      'range',
      'config',
      'constructor',
      '`',
      ';',
      '\n',
      '\0',
      'ü',
      ' not ',
      ' is ',
    );
    assert(
      property(array(part, { maxLength: 40 }), (parts) => {
        const result = renderOrFail(parts.join(''));
        expect(typeof result).toBe('string');
      }),
      { numRuns: 3000 },
    );
  });
});

/** Anything but a TemplateError is a defect. */
function renderOrFail(source: string): string {
  try {
    return render(source);
  } catch (error) {
    if (error instanceof TemplateError) return '';
    throw error;
  }
}
