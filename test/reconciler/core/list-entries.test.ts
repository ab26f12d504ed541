// Which entries of a list a plan shows as gone and as new.
import { expect, test } from 'vitest';
import { changedEntries } from '../../../reconciler/core/render/list-entries.ts';

const web = { action: 'allow', protocol: 'tcp' };

test('an entry whose members stand in another order is the same entry', () => {
  const after = [{ protocol: 'tcp', action: 'allow' }, { action: 'drop' }];
  expect(changedEntries([web], after)).toEqual({ gone: [], come: ['{"action":"drop"}'] });
  expect(changedEntries([web], [{ protocol: 'tcp', action: 'allow' }])).toBeUndefined();
});

test('a list that comes or goes as a whole shows all of its entries, and lists of texts show none', () => {
  expect(changedEntries(undefined, [web])).toEqual({ gone: [], come: [JSON.stringify(web)] });
  expect(changedEntries([web], undefined)).toEqual({ gone: [JSON.stringify(web)], come: [] });
  expect(changedEntries(['a'], ['b'])).toBeUndefined();
});
