// The output of hooks is kept without the secrets of a set, also without those of its former revisions.
import { expect, test } from 'vitest';
import { KnownSecrets } from '../../../reconciler/controller/sets/hooks/known-secrets.ts';
import type { LoadedRevision } from '../../../reconciler/controller/sets/load-revision.ts';

const revision = (password: string): LoadedRevision => {
  const documents = [{ values: { config: { 'user.password': password } }, secrets: ['config.user.password'] }];
  return { hosts: new Map([['h1', { loaded: { documents } }]]), problems: [] } as unknown as LoadedRevision;
};

test('a text is shown without the secrets of the last twenty revisions', () => {
  const known = new KnownSecrets();
  expect(known.hide('MAIL=password-1')).toBe('MAIL=password-1');
  known.note(revision('password-1'));
  known.note(revision('password-2-longer'));
  known.note(revision('password-2'));
  expect(known.hide('A=password-1 B=password-2-longer C=password-2')).toBe('A=(secret) B=(secret) C=(secret)');
  for (let at = 0; at < 18; at += 1) known.note(revision(`another-${at}`));
  expect(known.hide('A=password-1 B=password-2')).toBe('A=password-1 B=(secret)');
});

test('a revision that comes again counts as the newest', () => {
  const known = new KnownSecrets();
  for (let at = 0; at < 20; at += 1) known.note(revision(`password-${at}!`));
  known.note(revision('password-0!'));
  known.note(revision('another-one'));
  expect(known.hide('A=password-0! B=password-1! C=another-one')).toBe('A=(secret) B=password-1! C=(secret)');
});
