// The shipped daemon is killed while containers move between projects: afterwards each is complete in exactly one of them, and runs.
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { done, useGantryd } from '../../support/daemons/killed-gantryd.ts';
import { makeProject } from '../../support/daemons/projects.ts';
import { until } from '../../support/until.ts';

const onGantryd = useGantryd();
const names = Array.from({ length: 8 }, (_none, index) => `c${String(index).padStart(2, '0')}`);

/** In one pool a container gets another name; into another pool its files are copied. */
test.each([
  ['within a pool', 'default'],
  ['into another pool', 'second'],
])('moves %s that a kill interrupts leave every container in one project', async (_how, pool) => {
  await onGantryd(async (gantryd) => {
    for (const name of ['default', 'second']) await gantryd.call('POST', '/1.0/storage-pools', { name, driver: 'dir' });
    await makeProject(gantryd, 'old');
    await makeProject(gantryd, 'new');
    const source = { type: 'none' };
    const place = (of: string): string => join(gantryd.dir, 'storage-pools', of, 'containers');
    for (const name of names) {
      await done(gantryd, 'POST', '/1.0/containers?project=old', { name, source });
      await done(gantryd, 'POST', `/1.0/containers/${name}/snapshots?project=old`, { name: 's' });
      for (const file of ['mark', ...Array.from({ length: 40 }, (_none, index) => `f${index}`)])
        writeFileSync(join(place('default'), `old%${name}`, 'rootfs', file), `of ${name}`);
    }
    const there = (project: string, of: string): string[] =>
      readdirSync(place(of)).filter((name) => name.startsWith(`${project}%`));
    for (const name of names)
      await gantryd.call('POST', `/1.0/containers/${name}?project=old`, {
        name,
        migration: true,
        project: 'new',
        pool,
      });
    await until(() => there('new', pool).length >= 2);
    await gantryd.kill();
    await gantryd.start();

    const listed = async (project: string): Promise<string[]> =>
      ((await gantryd.get(`/1.0/containers?project=${project}&recursion=1`)) as { name: string }[]).map(
        ({ name }) => name,
      );
    const [left, moved] = [await listed('old'), await listed('new')];
    expect([...left, ...moved].toSorted()).toEqual(names);
    expect(there('old', 'default').toSorted()).toEqual(left.map((name) => `old%${name}`).toSorted());
    expect(there('new', pool).toSorted()).toEqual(moved.map((name) => `new%${name}`).toSorted());
    // A second request moves the remaining ones.
    for (const name of left)
      await done(gantryd, 'POST', `/1.0/containers/${name}?project=old`, {
        name,
        migration: true,
        project: 'new',
        pool,
      });
    expect(await listed('old')).toEqual([]);
    for (const name of names) {
      const file = await gantryd.call('GET', `/1.0/containers/${name}/files?path=/mark&project=new`);
      expect(file.bytes.toString()).toBe(`of ${name}`);
      await done(gantryd, 'PUT', `/1.0/containers/${name}?project=new`, { restore: 's' });
    }
    await done(gantryd, 'PUT', `/1.0/containers/${names[0]}/state?project=new`, { action: 'start' });
  });
});
