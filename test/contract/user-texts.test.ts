// Users of an object in messages: words instead of URLs.
import { expect, test } from 'vitest';
import { errors } from '../../server/api/errors.ts';
import { userText } from '../../server/api/project/user-text.ts';

test.each([
  ['/1.0/containers/web', 'container web'],
  ['/1.0/containers/a%20b?project=default', 'container a b'],
  ['/1.0/containers/web?project=team', 'container team%web'],
  ['/1.0/profiles/base', 'profile base'],
  ['/1.0/storage-pools/fast/volumes/custom/data', 'volume fast/data'],
  ['/1.0/storage-pools/fast/volumes/custom/data?project=team', 'volume fast/team%data'],
  ['/1.0/containers/web/snapshots/s', '/1.0/containers/web/snapshots/s'],
  ['the container web', 'the container web'],
  ['web', 'web'],
])('%s reads %s', (user, text) => {
  expect(userText(user)).toBe(text);
});

test('an object in use names its users, the first ones of many', () => {
  const users = ['a', 'b', 'c', 'd', 'e', 'f'].map((name) => `/1.0/containers/${name}`);
  expect(errors.inUse('network', 'br0', users).message).toBe(
    'The network br0 is in use by container a, container b, container c, container d, container e and 1 more',
  );
});
