// Reading `files:`, `exec:` and `snapshots:` of container documents: every form, local files, secrets, and messages.
import { createHash } from 'node:crypto';
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Document } from '../../../reconciler/core/documents/document.ts';
import { defineStack } from '../../../reconciler/manifest/define-stack.ts';
import { loadManifests } from '../../../reconciler/manifest/load.ts';
import type { Loaded } from '../../../reconciler/manifest/load-contract.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const folder = tempFolder('gantry-inside-');

const head = 'kind: container\nname: c1\nsource: { type: none }\n';
function load(text: string, env: Record<string, string> = {}): Promise<Loaded> {
  const path = join(folder, 'stack.yaml');
  writeFileSync(path, `${head}${text}`);
  return loadManifests({ paths: [path], env });
}
async function read(text: string, env: Record<string, string> = {}): Promise<Document> {
  const { documents, diagnostics } = await load(text, env);
  expect(diagnostics).toEqual([]);
  return documents[0] as Document;
}
/** `code line: message`. */
async function told(text: string): Promise<readonly string[]> {
  const { diagnostics } = await load(text);
  const first = head.split('\n').length;
  return diagnostics.map(({ code, line, message }) => `${code} ${(line ?? 0) - first + 1}: ${message}`);
}
const hash = (text: string): string => `sha256:${createHash('sha256').update(text).digest('hex')}`;

describe('files', () => {
  test('are declared by content, source, target and type; owner and mode have defaults', async () => {
    writeFileSync(join(folder, 'tool'), '#!/bin/sh\n', { mode: 0o755 });
    const { values, contents } = await read(`files:
  - { path: /etc/motd, content: "hi\\n" }
  - { path: /etc/key, content_base64: AP8=, mode: 0600, uid: 1000, gid: 1000 }
  - { path: /usr/bin/tool, source: tool }
  - { path: /etc/link, target: ../motd }
  - { path: /var/data, type: directory }
  - { path: /var/own, type: directory, mode: "700", uid: 7 }
`);
    const root = { uid: 0, gid: 0 };
    expect(values['files']).toEqual({
      '/etc/motd': { type: 'file', content: hash('hi\n'), mode: '0644', ...root },
      '/etc/key': {
        type: 'file',
        content: `sha256:${createHash('sha256')
          .update(Buffer.from([0, 255]))
          .digest('hex')}`,
        mode: '0600',
        uid: 1000,
        gid: 1000,
      },
      '/usr/bin/tool': { type: 'file', content: hash('#!/bin/sh\n'), mode: '0755', ...root },
      '/etc/link': { type: 'symlink', target: '../motd' },
      '/var/data': { type: 'directory' },
      '/var/own': { type: 'directory', mode: '0700', uid: 7 },
    });
    expect(contents).toEqual({
      '/etc/motd': { text: 'hi\n' },
      '/etc/key': { base64: 'AP8=' },
      '/usr/bin/tool': { file: join(folder, 'tool') },
    });
  });

  test('a directory is copied with all contents, without following links', async () => {
    const tree = join(folder, 'site');
    mkdirSync(join(tree, 'css'), { recursive: true });
    writeFileSync(join(tree, 'index.html'), 'index');
    writeFileSync(join(tree, 'css', 'a.css'), 'a');
    symlinkSync('/etc/shadow', join(tree, 'css', 'hostile'));
    const { values, contents } = await read('files: [{ path: /srv/www, source: site, uid: 33, mode: "0640" }]\n');
    expect(values['files']).toEqual({
      '/srv/www': { type: 'directory', uid: 33 },
      '/srv/www/css': { type: 'directory', uid: 33 },
      '/srv/www/css/a.css': { type: 'file', content: hash('a'), mode: '0640', uid: 33, gid: 0 },
      '/srv/www/css/hostile': { type: 'symlink', target: '/etc/shadow' },
      '/srv/www/index.html': { type: 'file', content: hash('index'), mode: '0640', uid: 33, gid: 0 },
    });
    expect(Object.keys(contents ?? {})).toEqual(['/srv/www/css/a.css', '/srv/www/index.html']);
  });

  test('contents from a secret store stay secret under their path inside', async () => {
    const document = await read(
      'files:\n  - { path: /etc/a, content: x }\n  - { path: /etc/pw, content: { from_env: PW } }\n',
      { PW: 'hush' },
    );
    expect(document.secrets).toEqual(['files./etc/pw.content']);
    expect(document.contents?.['/etc/pw']).toEqual({ text: 'hush' });
  });

  test('problems are reported with their place', async () => {
    expect(await told('files:\n  - { path: /a, kontent: x }\n  - { path: b, content: x, uid: root }\n')).toEqual([
      'unknown-key 2: files.0.kontent is not a key of this kind (did you mean content?)',
      expect.stringMatching(/^wrong-type 3: files\.1\.uid must /) as string,
    ]);
    const socket = createServer().listen(join(folder, 'socket'));
    await new Promise((resolve) => socket.once('listening', resolve));
    const rules = await told(`files:
  - { path: etc/x, content: x }
  - { path: /a, content: x, source: y }
  - { path: /b }
  - { path: /c, target: x, mode: "0644" }
  - { path: /d, content: x, mode: "4755" }
  - { path: /e, source: nowhere }
  - { path: /f, source: socket }
  - { path: /g, content: x }
  - { path: /g, content: y }
  - { path: /g/h, content: y }
  - { path: /i, type: directory, content: x }
`).finally(() => socket.close());
    expect(rules).toEqual([
      'bad-value 2: files.0.path must be an absolute path without ., .. and a slash at its end',
      'bad-value 3: a file takes exactly one of content, content_base64, source, this has content and source',
      'bad-value 4: a file takes exactly one of content, content_base64, source',
      'bad-value 5: a symbolic link cannot have a mode or an owner here',
      'bad-value 6: files.4.mode must be octal text of three digits such as "0644"',
      `file-not-found 7: ${join(folder, 'nowhere')} does not exist`,
      `not-a-file 8: ${join(folder, 'socket')} is not a file or a directory`,
      'duplicate 10: /g is declared twice',
      'bad-value 11: /g/h is below /g, which is declared as a file',
      'bad-value 12: a directory takes only source, this has content',
    ]);
  });

  test('a pointer of Git LFS is refused, not written in place of the file', async () => {
    const pointer = `version https://git-lfs.github.com/spec/v1\noid sha256:${'a'.repeat(64)}\nsize 5000000\n`;
    mkdirSync(join(folder, 'assets'));
    writeFileSync(join(folder, 'assets/app.tar'), pointer);
    const message = `${join(folder, 'assets/app.tar')} is a pointer of Git LFS, not the file`;
    for (const source of ['assets', 'assets/app.tar'])
      expect(await told(`files:\n  - { path: /opt/app, source: ${source} }\n`)).toEqual([`not-a-file 2: ${message}`]);
  });

  test('so many that their names do not fit on a container are refused', async () => {
    const entries = Array.from({ length: 1001 }, (_, index) => `  - { path: /f${index}, content: x }\n`).join('');
    expect(await told(`files:\n${entries}`)).toEqual([expect.stringMatching(/^too-many-files 1: 1001 files/)]);
  });
});

describe('commands', () => {
  test('are words or shell text, with conditions and success codes', async () => {
    const { values } = await read(`files: [{ path: /etc/app.conf, content: x }]
config: { limits.memory: 64MiB }
exec:
  - { name: plain, command: [echo, 1, true] }
  - name: shell
    command: echo "$HOME"; exit 3
    environment: { A: 1, B: two }
    cwd: /tmp
    user: 1000
    group: 1000
    exit_code: [0, 3]
    timeout: 90s
  - { name: again, command: [reload], on_change: [/etc, config.limits.memory] }
  - { name: guarded, command: [make], unless: [test, -e, /x], exit_code: any }
  - { name: made, command: [make], creates: /var/x }
  - { name: boot, command: [boot], on_start: true }
  - { name: ever, command: [once], once: true }
  - { name: told, command: [a], triggers: { version: 2 } }
`);
    expect(values['exec']).toEqual({
      plain: { command: ['echo', '1', 'true'], timeout_ms: 300_000 },
      shell: {
        command: ['/bin/sh', '-c', 'echo "$HOME"; exit 3'],
        environment: { A: '1', B: 'two' },
        cwd: '/tmp',
        user: 1000,
        group: 1000,
        exit_codes: [0, 3],
        timeout_ms: 90_000,
      },
      again: { command: ['reload'], on_change: ['/etc', 'config.limits.memory'], timeout_ms: 300_000 },
      guarded: { command: ['make'], unless: ['test', '-e', '/x'], exit_codes: [], timeout_ms: 300_000 },
      made: { command: ['make'], creates: '/var/x', timeout_ms: 300_000 },
      boot: { command: ['boot'], on_start: true, timeout_ms: 300_000 },
      ever: { command: ['once'], once: true, timeout_ms: 300_000 },
      told: { command: ['a'], triggers: { version: '2' }, timeout_ms: 300_000 },
    });
  });

  test('secrets in commands are identified by the name of the command', async () => {
    const line = '  - { name: b, command: [login, { from_env: PW }], environment: { PW: { from_env: PW } } }\n';
    const { secrets } = await read(`exec:\n  - { name: a, command: { from_env: PW } }\n${line}`, { PW: 'hush' });
    expect(secrets).toEqual(['exec.a.command.2', 'exec.b.command.1', 'exec.b.environment.PW']);
  });

  test('problems are reported with their place', async () => {
    expect(
      await told(`exec:
  - { name: 1, command: [a] }
  - { name: a, command: [a], once: true, creates: /x }
  - { name: a, command: [a] }
  - { name: b, command: [a], on_change: [/etc/nothing] }
  - { name: c, command: [a], on_change: [config.limits.memory] }
  - { name: d, command: [a], creates: x/y/ }
  - { name: e, command: [a], timeout: 3 years }
`),
    ).toEqual(expect.arrayContaining([expect.stringContaining('exec.6.timeout must be a time')]));
    expect(
      await told(`exec:
  - { name: 1, command: [a] }
  - { name: a, command: [a], once: true, creates: /x }
  - { name: a, command: [a] }
  - { name: b, command: [a], on_change: [/etc/nothing] }
  - { name: c, command: [a], on_change: [config.limits.memory] }
  - { name: d, command: [a], creates: /x/../y }
`),
    ).toEqual([
      'bad-name 2: exec.0.name must be letters, digits, - and _, and not only digits',
      'bad-value 3: once and creates exclude each other',
      'duplicate 4: there are two commands a',
      'bad-reference 5: /etc/nothing: no file is declared there',
      'bad-reference 6: config.limits.memory: the document does not declare it',
      'bad-value 7: exec.5.creates must be an absolute path without . and ..',
    ]);
  });

  test('commands of a container that is declared stopped cause a warning that they do not run', async () => {
    expect(await told('state: stopped\nexec: [{ name: a, command: [a] }]\n')).toEqual([
      'not-used 2: the container is declared stopped: its commands run once it is not',
    ]);
  });
});

describe('snapshots', () => {
  test('are a list, or a map with the policy of automatic ones', async () => {
    const list = await read('snapshots: [{ name: fresh, expires_at: 2030-01-02, description: d, stateful: true }]\n');
    const fresh = { description: 'd', expires_at: '2030-01-02T00:00:00.000Z', stateful: true };
    expect(list.values['snapshots']).toEqual({ fresh });
    const map = await read(
      'config: { user.x: y }\nsnapshots: { schedule: "@daily", expiry: 2w, pattern: p%d, stopped: true, named: [{ name: fresh }] }\n',
    );
    expect(map.values).toMatchObject({
      snapshots: { fresh: {} },
      config: {
        'user.x': 'y',
        'snapshots.schedule': '@daily',
        'snapshots.expiry': '2w',
        'snapshots.pattern': 'p%d',
        'snapshots.schedule.stopped': 'true',
      },
    });
  });

  test('problems are reported with their place', async () => {
    expect(
      await told(`config: { snapshots.expiry: 1d }
snapshots:
  schedule: sometimes
  expiry: 2w
  named:
    - { name: a/b }
    - { name: a, expires_at: soon }
    - { name: a }
`),
    ).toEqual([
      expect.stringMatching(/^bad-value 3: snapshots.schedule /) as string,
      'duplicate 4: config has snapshots.expiry already: say it once',
      expect.stringMatching(/^bad-name 6: the name "a\/b" must/) as string,
      expect.stringMatching(/^bad-value 7: snapshots.named.1.expires_at must be a time/) as string,
      'duplicate 8: there are two snapshots a',
    ]);
  });
});

test('a stack in TypeScript declares the same', async () => {
  const stack = defineStack((s) => {
    s.container('c1', {
      source: { type: 'none' },
      files: [
        { path: '/etc/pw', content: { from_env: 'PW' }, mode: '0600' },
        { path: '/var/x', type: 'directory' },
      ],
      exec: [{ name: 'setup', command: 'true', on_change: ['/etc/pw'], exit_code: [0, 3] }],
      snapshots: { schedule: '@daily', named: [{ name: 'fresh' }] },
    });
  });
  const { documents, diagnostics } = await loadManifests({ paths: ['-'], stdin: stack.toYaml(), env: { PW: 'hush' } });
  expect(diagnostics).toEqual([]);
  expect(documents[0]?.values).toMatchObject({
    files: { '/etc/pw': { mode: '0600' }, '/var/x': { type: 'directory' } },
    exec: { setup: { on_change: ['/etc/pw'], exit_codes: [0, 3] } },
    snapshots: { fresh: {} },
    config: { 'snapshots.schedule': '@daily' },
  });
});
