// `gantry import compose` with `env_file` and `.env`: what docker compose makes of them, and files that it must not trust.
import { execFileSync } from 'node:child_process';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parseAllDocuments } from 'yaml';
import type { JsonObject } from '../../../reconciler/core/documents/document.ts';
import { mapOf } from '../../../reconciler/core/documents/json-values.ts';
import { envLines, rawEnvLines } from '../../../reconciler/manifest/import-compose/env-lines.ts';
import { importCompose } from '../../../reconciler/manifest/import-compose/import-compose.ts';
import { cli } from '../../support/cli/io.ts';
import { tempFolder } from '../../support/temp-folder.ts';

/** Each file by its path in `/srv`. */
const imported = (compose: string, files: Readonly<Record<string, string>>) => {
  const { documents, notes } = importCompose(compose, '/srv', {}, (path) => {
    const text = files[path.replace(/^\/srv\//, '')];
    return text === undefined ? { why: 'is not there', isMissing: true } : { text };
  });
  const config = (name: string): JsonObject => mapOf(documents.find((each) => each['name'] === name)?.['config']);
  return {
    vars: mapOf(documents.find(({ kind }) => kind === 'vars')?.['vars']),
    environment: (name: string) =>
      Object.fromEntries(Object.entries(config(name)).map(([key, value]) => [key.replace('environment.', ''), value])),
    image: (name: string) => mapOf(documents.find((each) => each['name'] === name)?.['source'])['alias'],
    notes: notes.map(({ line, text }) => `${line}: ${text}`),
  };
};
const service = (lines: string): string => `services:\n  web:\n    image: debian:12\n${lines}`;

describe('a line of an env file', () => {
  test.each([
    ['A=1', '1'],
    ['  export A = 1 ', '1'],
    ['A: 1', '1'],
    ['A=1:b=c', '1:b=c'],
    ['A=', ''],
    ['A=b c # d', 'b c'],
    ['A=b#c', 'b#c'],
    ['A="b # c" # d', 'b # c'],
    ["A='b # c' # d", 'b # c'],
    ["A='$B ${C}'", '$$B $${C}'],
    ["A='Let\\'s \\n go \\\\'", "Let's \\n go \\\\"],
    ['A="{\\"b\\": \\"c\\"}"', '{"b": "c"}'],
    ['A="b\\tc\\\\n\\n\\0101\\q"', 'b\tc\\n\nA\\q'],
    ['A="\\$B $$C $D"', '$$B $$C $D'],
    ['A="b\nc"', 'b\nc'],
    ["A='b\r\nc'\r", 'b\r\nc'],
    ['\uFEFF# b\n\nA=1\r\n', '1'],
    ['A=\\n', '\\n'],
    ['A=b"c"', 'b"c"'],
  ])('%j has the value that docker compose gives it', (text, value) => {
    expect(envLines(text)).toEqual({ lines: [{ name: 'A', value }] });
  });

  test('a name alone takes its value from the shell', () => {
    expect(envLines('A\nexport B\nC.d-e=1\nD').lines).toEqual([
      { name: 'A', value: undefined },
      { name: 'B', value: undefined },
      { name: 'C.d-e', value: '1' },
      { name: 'D', value: undefined },
    ]);
  });

  test.each([
    ['A=1\n\nB C=2\n', /line 3 is no NAME=VALUE/],
    ['=secret', /line 1 is no NAME=VALUE/],
    ['A=1\nB="secret\n', /line 2 has a quote that does not end/],
  ])('%j is named by its line, and nothing of it is shown', (text, problem) => {
    const found = envLines(text);
    expect(found.problem).toMatch(problem);
    expect(found.problem).not.toContain('secret');
  });

  test('the raw format keeps quotes, dollars and comments', () => {
    expect(rawEnvLines('# a\n A="b" # $C\r\nD\n').lines).toEqual([
      { name: 'A', value: '"b" # $$C' },
      { name: 'D', value: undefined },
    ]);
    expect(rawEnvLines('A=1\nB C=2').problem).toMatch(/line 2/);
  });
});

describe('env_file', () => {
  test('a later file goes before an earlier one, and environment before both', () => {
    const { environment, notes } = imported(
      service("    env_file: [a.env, { path: b.env }]\n    environment: { C: own, D: '' }\n"),
      { 'a.env': 'A=1\nB=1\nC=1\nD=1\n', 'b.env': 'B=2\nC=2\n' },
    );
    expect(environment('web')).toEqual({ A: '1', B: '2', C: 'own', D: '' });
    expect(notes).toEqual([]);
  });

  test.each(['', '    env_file: a.env\n'])(
    'a variable in the name of a pair gets its value in place, after %j',
    (more) => {
      const { environment, vars, notes } = imported(
        service(`${more}    environment: ["\${K:-DK}=v", "A_\${E}=\${V:-w}", "\${LOST}=x", "\${E}"]\n`),
        { 'a.env': '', '.env': 'E=e' },
      );
      expect([environment('web'), vars]).toEqual([{ DK: 'v', A_e: '${V}' }, { V: 'w' }]);
      expect(notes.join('\n')).toContain('${LOST} does not move: its name has a variable without a default: write');
    },
  );

  test('a variable in it is the one of environment, of an earlier line, or of the manifest', () => {
    const { environment, vars, notes } = imported(
      service('    env_file: a.env\n    environment: [HOST=db, "TAIL=$UNKNOWN"]\n'),
      {
        'a.env':
          "PORT=5432\nURL=http://${HOST}:$PORT/${NAME:-x${PORT}}/${PORT:+set}${TAIL}\nPLAIN='$PORT'\nCOST=5$$PORT\n",
      },
    );
    expect(environment('web')).toMatchObject({
      URL: 'http://db:5432/${NAME}/set${UNKNOWN}',
      PLAIN: '$PORT',
      COST: '5$PORT',
    });
    expect(vars).toEqual({ NAME: 'x5432', UNKNOWN: null });
    expect(notes.join('\n')).toMatch(/NAME is a variable of the shell: it is one of the manifest, with its default/);
  });

  test('a file that is not there is named, unless it need not be', () => {
    const { notes } = imported(
      service('    env_file:\n      - path: lost.env\n      - { path: other.env, required: false }\n'),
      {},
    );
    expect(notes).toEqual([
      '4: services.web.env_file does not move: lost.env is not there: write its variables under environment',
    ]);
  });

  test('what cannot be taken over of a file is named, and the rest is taken over', () => {
    const { environment, notes } = imported(service('    env_file: a.env\n'), {
      'a.env': `A=1\nFROM_SHELL\nLONG=${'x'.repeat(140_000)}\nZERO="\\0000"\nB C\n`,
    });
    expect(environment('web')).toEqual({ A: '1' });
    expect(notes).toEqual([
      '2: services.web: FROM_SHELL takes its value from the shell: write it as a variable (kind: vars)',
      '4: services.web: a.env: line 5 is no NAME=VALUE: its lines from there on do not move',
      '4: services.web: LONG of a.env does not move: it has more than 128 KiB',
      '4: services.web: ZERO of a.env does not move: it has a zero byte',
    ]);
  });

  test('a value of several lines is named: variables of containers have one', () => {
    const { environment, notes } = imported(
      service('    env_file: a.env\n    environment: { KEY: "one\\ntwo", ONE: "1" }\n'),
      { 'a.env': 'CERT="one\\ntwo"\nA=1\n' },
    );
    expect(environment('web')).toEqual({ A: '1', ONE: '1' });
    expect(notes).toEqual([
      expect.stringMatching(/^5: services\.web: CERT does not move: its value has several lines/),
      expect.stringMatching(/^5: services\.web: KEY does not move: its value has several lines/),
    ]);
  });

  test('values that double each other stay bounded', () => {
    const doubled = Array.from({ length: 60 }, (_, index) => `A${index + 1}=$A${index}$A${index}`);
    const { environment } = imported(service('    env_file: a.env\n'), {
      'a.env': ['A0=0123456789', ...doubled].join('\n'),
      '.env': ['B0=0123456789', ...doubled.map((line) => line.replaceAll('A', 'B'))].join('\n'),
    });
    expect(environment('web')['A13']).toHaveLength(81_920);
    expect(environment('web')).not.toHaveProperty('A14');
  });

  test('a variable in its path has a value, and the raw format is read', () => {
    const { environment, notes } = imported(
      service(
        "    env_file: ['${STAGE:-dev}.env', { path: raw.env, format: raw }, '$LOST.env', { path: a, format: toml }]\n",
      ),
      { 'dev.env': 'A=1', 'raw.env': "B='$C'" },
    );
    expect(environment('web')).toEqual({ A: '1', B: "'$C'" });
    expect(notes.join('\n')).toMatch(/\$LOST\.env has a variable without a default/);
    expect(notes.join('\n')).toMatch(/a has the format toml, which is not known/);
  });

  test('a service has the files of the one that it extends first', () => {
    const { environment } = imported(
      `services:
  base: { image: 'debian:12', env_file: a.env, environment: { C: base } }
  web: { extends: { service: base }, env_file: [b.env] }
`,
      { 'a.env': 'A=1\nB=1\nC=1', 'b.env': 'B=2\nC=2' },
    );
    expect(environment('web')).toEqual({ A: '1', B: '2', C: 'base' });
    expect(environment('base')).toEqual({ A: '1', B: '1', C: 'base' });
  });
});

describe('.env', () => {
  const dotEnv = "TAG=11\nPASSWORD='pa$$word'\nEMPTY=\nDATA=/data/$TAG/${HOME:-root}\n";

  test('its values are variables of the manifest in environments, and written elsewhere', () => {
    const { environment, vars, image, notes } = imported(
      `services:
  web:
    image: debian:\${TAG:-12}
    env_file: a.env
    environment:
      SECRET: \${PASSWORD:?needed}
      FALLBACK: \${EMPTY:-word}
      KEPT: \${EMPTY-word}
      IF: \${TAG:+yes}\${EMPTY:+no}
      PASSWORD:
      LOST:
`,
      { '.env': dotEnv, 'a.env': 'FILE=${DATA}\nTAG\n' },
    );
    expect(image('web')).toBe('debian/11');
    expect(environment('web')).toEqual({
      FILE: '${DATA}',
      TAG: '${TAG}',
      SECRET: '${PASSWORD}',
      FALLBACK: '${EMPTY:-word}',
      KEPT: '${EMPTY}',
      IF: 'yes',
      PASSWORD: '${PASSWORD}',
    });
    expect(vars).toEqual({ PASSWORD: 'pa$$word', EMPTY: '', TAG: '11', DATA: '/data/11/root' });
    const all = notes.join('\n');
    expect(all).toMatch(/PASSWORD is a variable of \.env: it is one of the manifest, with that value/);
    expect(all).toMatch(/TAG is a variable of \.env: its value is written where it stands/);
    expect(all).toMatch(/HOME is a variable of the shell: its default, or nothing, is written in \.env/);
    expect(all).toMatch(/LOST takes its value from the shell/);
  });

  test('a value of several lines is left out, and a plan asks for the variable', () => {
    const { vars, notes } = imported(service('    environment: { KEY: $KEY }\n'), { '.env': 'KEY="one\\ntwo"' });
    expect(vars).toEqual({ KEY: null });
    expect(notes.join('\n')).toContain('KEY of .env has several lines: it is left out');
  });

  test('a name alone in a list of environment takes its value', () => {
    const { environment, vars } = imported(service('    environment: [TAG, OTHER]\n'), { '.env': dotEnv });
    expect(environment('web')).toEqual({ TAG: '${TAG}' });
    expect(vars).toEqual({ TAG: '11' });
  });

  test('a dollar of its value stays one where the value is written', () => {
    const { notes } = imported(service('    volumes: ["/srv/${PASSWORD}:/data"]\n'), { '.env': "PASSWORD='a$b'" });
    expect(notes.join('\n')).toContain('its variable has no default');
  });
});

test('the command reads files beside the compose file, and no pipe, device or large file', async () => {
  const folder = tempFolder('gice-');
  const stack = join(folder, 'stack');
  mkdirSync(stack);
  const at = (name: string): string => join(stack, name);
  const names = ['a.env', '../up.env', 'pipe', '/dev/zero', 'large.env', '.'];
  writeFileSync(at('compose.yaml'), service(`    env_file: ${JSON.stringify(names)}\n`));
  writeFileSync(at('a.env'), 'A="b c"\n');
  writeFileSync(join(folder, 'up.env'), 'UP=1\n');
  writeFileSync(at('large.env'), `L=1\n#${'x'.repeat(1024 * 1024)}`);
  execFileSync('mkfifo', [at('pipe')]);
  const out = at('stack.yaml');
  const made = await cli(['import', 'compose', at('compose.yaml'), '-o', out]);
  expect(made.code, made.stderr).toBe(0);
  expect(
    parseAllDocuments(readFileSync(out, 'utf8')).map((each) => mapOf(each.toJS() as JsonObject)['config']),
  ).toEqual([{ 'environment.A': 'b c', 'environment.UP': '1' }]);
  expect(made.stderr).toContain('../up.env is outside the folder of the compose file');
  for (const name of ['pipe', '/dev/zero', '.'])
    expect(made.stderr).toContain(`services.web.env_file does not move: ${name} is no regular file`);
  expect(made.stderr).toContain('large.env has more than 1 MiB');
  // It may hold passwords.
  expect(statSync(out).mode & 0o777).toBe(0o600);
});
