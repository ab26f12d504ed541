// What git says of a missing login becomes what the configuration lacks.
import { expect, test } from 'vitest';
import { explainGit } from '../../../../reconciler/controller/sources/git/explain-git.ts';

test('a server that asks for a login is answered with the settings that are missing, not with words of git', () => {
  const stderr = "fatal: could not read Username for 'https://git.example.org': terminal prompts disabled\n";
  const { problem, message } = explainGit('fetch', { shown: 'https://git.example.org/shop.git' }, stderr, 128);
  expect(problem).toBe('denied');
  expect(message).toMatch(
    /the server asks for a user name and a password; set credentials.username and credentials.passwordFile/,
  );
  expect(message).not.toContain('could not read');
});
