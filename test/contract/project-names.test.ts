// Names of objects of projects: how they are qualified internally, found in URLs, and shown to users.
import { describe, expect, test } from 'vitest';
import { plainName, projectOf, qualifiedName } from '../../server/api/project/project-names.ts';
import { projectOfUrl } from '../../server/api/project/project-of-url.ts';
import { readableNames } from '../../server/api/project/readable-names.ts';
import { ofProject } from '../../server/services/shared/project-scope.ts';

const isProject = (name: string): boolean => ['default', 'a', 'team-1', 'b(c'].includes(name);

test.each([
  ['The container a%web was not found', 'a', 'The container web was not found'],
  ['The container a%web was not found', 'default', 'The container web (project a) was not found'],
  ['The container a%web was not found', undefined, 'The container web (project a) was not found'],
  ['in use by team-1%x, team-1%y.z.', 'team-1', 'in use by x, y.z.'],
  ['in use by team-1%x, a%y.', 'team-1', 'in use by x, y (project a).'],
  ['(a%web) [a%web]', 'a', '(web) [web]'],
  ['b(c%web', 'b(c', 'web'],
  ['The volume pool/a%v of /var/x/a%web/rootfs', 'a', 'The volume pool/v of /var/x/web/rootfs'],
  ['The volume pool/a%v of /var/x/a%web/rootfs', undefined, 'The volume pool/a%v of /var/x/a%web/rootfs'],
  ['100% of a%20b', 'b', '100% of 20b (project a)'],
  ['100% of nothing, zz%web', 'a', '100% of nothing, zz%web'],
  ['default%a%b', 'default', 'a%b'],
])('%j reads %s as %j', (text, project, expected) => {
  expect(readableNames(text, project, isProject)).toBe(expected);
});

test.each([
  ['/1.0/containers/web?project=a', 'a'],
  ['/1.0/containers/web', 'default'],
  ['/1.0/containers/web/snapshots/s?project=a%20b', 'a b'],
  ['/1.0/storage-pools/p/volumes/custom/v', 'default'],
  ['/1.0/storage-pools/p', undefined],
  ['/1.0/networks/n', undefined],
  ['/1.0/projects/a', undefined],
  ['', undefined],
])('the URL %s belongs to the project %s', (url, project) => {
  expect(projectOfUrl(url)).toBe(project);
});

test('a qualified name round-trips, and one with % stays in its project', () => {
  for (const project of ['default', 'a'])
    for (const name of ['web', 'a%web', '%', '%%', 'default%web']) {
      const inside = qualifiedName(project, name);
      expect([projectOf(inside), plainName(inside)]).toEqual([project, name]);
    }
});

describe('the objects of a project in a sorted list', () => {
  const names = ['!', 'a', 'a%', 'a%1', 'a%z', 'a&b', 'aa%x', 'b', 'b%c', 'web', 'z%z'];
  const list = names.toSorted((one, other) => (one < other ? -1 : 1)).map((name) => ({ name }));

  test.each(['default', 'a', 'aa', 'b', 'z', 'none'])(
    'the objects of a project in a sorted list of %s are those that its name begins',
    (project) => {
      expect(ofProject(list, project)).toEqual(list.filter(({ name }) => projectOf(name) === project));
    },
  );

  test('the objects of a project are found without visiting others', () => {
    let looks = 0;
    const counted = Array.from({ length: 20_000 }, (_none, index) => ({
      get name() {
        looks += 1;
        return `p${String(Math.floor(index / 20)).padStart(4, '0')}%c${String(index % 20).padStart(2, '0')}`;
      },
    }));
    expect(ofProject(counted, 'p0500')).toHaveLength(20);
    expect(looks).toBeLessThan(100);
  });
});
