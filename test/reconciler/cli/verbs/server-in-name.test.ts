// Names with a server or a path behind a colon, as users of lxc, docker and kubectl type them: each verb says what to type here.
import { describe, expect, test } from 'vitest';
import { cli } from '../../../support/cli/io.ts';

const refusal = async (...words: readonly string[]): Promise<string> => {
  const { code, stderr } = await cli([...words, '--host', 'unix:///nowhere/unix.socket']);
  expect([words, code, stderr]).toEqual([words, 64, stderr]);
  return stderr;
};

describe('a server before a name', () => {
  test.each([
    ['list', 'prod:'],
    ['info', 'prod:web'],
    ['exec', 'prod:web', 'ls', '-l'],
    ['stop', 'web', 'prod:web'],
    ['delete', 'prod:web'],
    ['shell', 'prod:web'],
    ['logs', 'prod:web'],
    ['top', 'prod:web'],
    ['port-forward', 'prod:web', '8080:80'],
    ['file', 'pull', 'prod:web/etc/hosts', '.'],
    ['snapshot', 'create', 'prod:web'],
    ['snapshot', 'restore', 'prod:web/before'],
    ['copy', 'prod:web', 'web2'],
    ['launch', 'debian', 'prod:web'],
  ])('%s %s is refused with the flag that names the server', async (...words) => {
    expect(await refusal(...words)).toMatch(/has a server before the name: write .*--host prod, with a context/);
  });

  test('a copy to another server names its flag', async () => {
    expect(await refusal('copy', 'web', 'prod:')).toContain('write --target-host prod,');
    expect(await refusal('move', 'web', 'prod:web2')).toContain('write web2 --target-host prod,');
  });

  test('local: is left out', async () => {
    expect(await refusal('info', 'local:web')).toContain('write web for the server in use');
  });
});

test('a colon before a path is left out', async () => {
  expect(await refusal('file', 'push', '/etc/hostname', 'web:/etc/a')).toContain('write web/etc/a');
  expect(await refusal('file', 'pull', 'web:/etc/hosts', '-')).toContain('write web/etc/hosts');
});

test('cp of docker and kubectl is answered with the verbs for files', async () => {
  expect(await refusal('cp', 'a.conf', 'web:/etc/')).toContain('gantry file push a.conf web/etc/');
  expect(await refusal('cp', 'web:/etc/hosts', '.')).toContain('gantry file pull web/etc/hosts .');
});

test('a colon elsewhere in a word stays', async () => {
  const { stderr } = await cli(['delete', 'image_alias/images:debian', '--host', 'unix:///nowhere/unix.socket']);
  expect(stderr).not.toContain('colon');
  expect(stderr).not.toContain('before the name');
});
