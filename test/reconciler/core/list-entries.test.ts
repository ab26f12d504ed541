// The removed and added entries of a list in a plan.
import { expect, test } from 'vitest';
import { changedEntries } from '../../../reconciler/core/render/list-entries.ts';

const web = { action: 'allow', protocol: 'tcp' };

test('an entry with members in another order is the same entry', () => {
  const after = [{ protocol: 'tcp', action: 'allow' }, { action: 'drop' }];
  expect(changedEntries([web], after)).toEqual({ gone: [], come: ['{"action":"drop"}'] });
  expect(changedEntries([web], [{ protocol: 'tcp', action: 'allow' }])).toBeUndefined();
});

test('an added or removed list shows all of its entries, and lists of texts show none', () => {
  expect(changedEntries(undefined, [web])).toEqual({ gone: [], come: [JSON.stringify(web)] });
  expect(changedEntries([web], undefined)).toEqual({ gone: [JSON.stringify(web)], come: [] });
  expect(changedEntries(['a'], ['b'])).toBeUndefined();
});
