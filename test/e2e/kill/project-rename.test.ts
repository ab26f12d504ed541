// The shipped daemon is killed while a project is renamed: the next start finishes it, with every container, volume and profile.
import { readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { done, useGantryd } from '../../support/daemons/killed-gantryd.ts';
import { makeProject } from '../../support/daemons/projects.ts';
import { until } from '../../support/until.ts';

const onGantryd = useGantryd();
const names = Array.from({ length: 30 }, (_none, index) => `c${String(index).padStart(2, '0')}`);

test('a rename of a project that a kill interrupts is finished by the next start', async () => {
  await onGantryd(async (gantryd) => {
    await gantryd.call('POST', '/1.0/storage-pools', { name: 'default', driver: 'dir' });
    await makeProject(gantryd, 'old');
    await makeProject(gantryd, 'other');
    const source = { type: 'none' };
    const volumes = join(gantryd.dir, 'storage-pools/default/containers');
    for (const name of names) await done(gantryd, 'POST', '/1.0/containers?project=old', { name, source });
    await done(gantryd, 'POST', '/1.0/containers?project=other', { name: 'c00', source });
    await done(gantryd, 'PUT', '/1.0/containers/c00/state?project=other', { action: 'start' });
    await gantryd.call('POST', '/1.0/storage-pools/default/volumes/custom?project=old', { name: 'data' });
    for (const directory of readdirSync(volumes)) writeFileSync(join(volumes, directory, 'rootfs/mark'), directory);

    await gantryd.call('POST', '/1.0/projects/old', { name: 'new' });
    const moved = (): number => readdirSync(volumes).filter((name) => name.startsWith('new')).length;
    await until(() => moved() >= 3);
    await gantryd.kill();
    expect(moved()).toBeLessThan(names.length);
    await gantryd.start();

    expect((await gantryd.call('GET', '/1.0/projects/old')).status).toBe(404);
    expect(await gantryd.get('/1.0/containers?project=new')).toEqual(
      names.map((name) => `/1.0/containers/${name}?project=new`),
    );
    expect((await gantryd.get('/1.0/projects/new')).used_by).toHaveLength(names.length + 2);
    for (const name of names.slice(0, 5)) {
      const file = await gantryd.call('GET', `/1.0/containers/${name}/files?path=/mark&project=new`);
      expect(file.bytes.toString()).toMatch(new RegExp(`^old.*${name}$`));
    }
    await done(gantryd, 'PUT', '/1.0/containers/c07/state?project=new', { action: 'start' });
    expect((await gantryd.get('/1.0/containers/c00?project=other')).status).toBe('Running');
    expect((await gantryd.get('/1.0/containers/c00?project=new')).status).toBe('Stopped');
    const operations = await gantryd.get('/1.0/operations?recursion=1&all-projects=true');
    expect(operations.filter(({ description }: { description: string }) => description === 'Renaming project')).toEqual(
      [],
    );
  });
});
