// Output of git becomes typed problems in terms of the configuration.
import { expect, test } from 'vitest';
import { DamagedCopyError } from '../../../../reconciler/controller/sources/source.ts';
import { chooseReference, wantedReference } from '../../../../reconciler/controller/sources/git/choose-reference.ts';
import { explainGit } from '../../../../reconciler/controller/sources/git/explain-git.ts';

test('a server that requires a login leads to an error with the missing settings, not with the text of git', () => {
  const stderr = "fatal: could not read Username for 'https://git.example.org': terminal prompts disabled\n";
  const { problem, message } = explainGit('fetch', { shown: 'https://git.example.org/shop.git' }, stderr, 128);
  expect(problem).toBe('denied');
  expect(message).toMatch(
    /the server asks for a user name and a password; set credentials.username and credentials.passwordFile/,
  );
  expect(message).not.toContain('could not read');
});

test('a damaged copy is distinguished from an unreachable server, whatever the address contains', () => {
  const shown = 'https://git.example.org/shallow.git';
  const damaged = explainGit('fetch', { shown }, "fatal: Unable to create '/x/shallow.lock': File exists.\n", 128);
  expect(damaged).toBeInstanceOf(DamagedCopyError);
  const away = explainGit('fetch', { shown }, 'fatal: Could not resolve host: git.example.org\n', 128);
  expect(away.problem).toBe('unreachable');
  expect(away).not.toBeInstanceOf(DamagedCopyError);
});

test('a folder that a commit lacks is not found, also where git names the object', () => {
  for (const said of ['fatal: Not a valid object name 1a2b:deploy', 'fatal: not a tree object'])
    expect(explainGit('ls-tree', { shown: 'x' }, `${said}\n`, 128).problem).toBe('not-found');
});

test('a full disk is named with its folder and is no damaged copy, which would be thrown away', () => {
  const stderr = 'fatal: unable to write loose object file: No space left on device\nfatal: unpack-objects failed\n';
  const full = explainGit('fetch', { shown: 'x', folders: ['/state/sources/shop'] }, stderr, 128);
  expect(full).not.toBeInstanceOf(DamagedCopyError);
  expect(full.message).toMatch(
    /^x: cannot write \/state\/sources\/shop: its disk is full.*; make room there \(git fetch: /,
  );
  const there = explainGit('push', { shown: 'x' }, 'remote: fatal: write error: No space left on device\n', 128);
  expect(there.message).not.toContain('cannot write');
});

test('a name or a text of a server that would reorder what stands beside it is refused, or shown escaped', () => {
  const head = 'refs/heads/ma\u202Ein';
  const choose = () =>
    chooseReference(wantedReference({}), { refs: [{ ref: head, object: 'a'.repeat(40) }], head }, 'shop');
  expect(choose).toThrow(String.raw`the reference "ma\u202ein" is not used`);
  const { message } = explainGit('push', { shown: 'x' }, 'remote: \u202Eolleh\u009b1m\nfatal: no\n', 128);
  expect(message).toContain(String.raw`remote: \u202eolleh\u009b1m`);
});
