// The laws of the reconciler on stacks that are in projects: the same names in two of them, with features of every combination.
import { join } from 'node:path';
import * as fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { MemoryDaemon } from '../support/daemons/in-memory.ts';
import { isLongRun } from '../support/left-out.ts';
import { forms, Material, stacks, type Written } from './arbitrary-stacks.ts';
import { apply, expectSettled, gantry, onDaemon } from './daemon-case.ts';

const numRuns = Number(process.env['PROPERTY_RUNS'] ?? (isLongRun ? 3 : 1));

let material: Material;
beforeAll(() => {
  material = new Material();
});
afterAll(() => material.remove());

const featureOf: Readonly<Record<string, string>> = {
  profile: 'features.profiles',
  image: 'features.images',
  image_alias: 'features.images',
  storage_volume: 'features.storage.volumes',
};
const features = fc.record({
  'features.profiles': fc.boolean(),
  'features.images': fc.boolean(),
  'features.storage.volumes': fc.boolean(),
});
type Features = Readonly<Record<string, boolean>>;

/** The stack in `default` and again in a project: its containers, and other objects of kinds that the project does not share. */
function inTwoProjects(documents: readonly Written[], config: Features, limit: string): readonly Written[] {
  const own = documents.filter(({ kind }) => kind === 'container' || config[featureOf[kind] ?? ''] === true);
  return [
    ...documents,
    { kind: 'project', name: 'team', config: { ...config, 'limits.containers': limit } },
    ...own.map((one) => ({ ...one, project: 'team' })),
  ];
}

const yaml = (documents: readonly Written[]): readonly string[] =>
  forms['yaml']?.write(documents, material.folder()) ?? [];

const law = (
  work: (daemon: MemoryDaemon, documents: readonly Written[], other: readonly Written[]) => Promise<void>,
  runs = numRuns,
): Promise<void> =>
  fc.assert(
    fc.asyncProperty(
      stacks(material),
      stacks(material),
      features,
      fc.constantFrom('5', '9'),
      (documents, other, config, limit) =>
        onDaemon((daemon) => work(daemon, inTwoProjects(documents, config, '5'), inTwoProjects(other, config, limit))),
    ),
    { numRuns: runs, endOnFailure: process.env['PROPERTY_SHRINK'] === undefined },
  );

/** Names of containers by project, as the daemon lists them. */
async function containersIn({ client }: MemoryDaemon, project: string): Promise<readonly string[]> {
  return (await client.inProject(project).list('container')).map(({ name }) => name);
}
const declaredIn = (documents: readonly Written[], project: string | undefined): readonly unknown[] =>
  documents.filter((one) => one.kind === 'container' && one['project'] === project).map((one) => one['name']);

describe('laws of projects on a daemon', () => {
  test('a second plan is empty after an apply, and after an apply of another stack', () =>
    law(async (daemon, documents, other) => {
      for (const declared of [documents, other]) {
        const flags = ['--set', 'default', '--prune', '--allow-destroy', '--allow-recreate', '--prune-limit', '100%'];
        await apply(daemon, ...flags, ...yaml(declared));
        await expectSettled(daemon, ...yaml(declared));
        expect(await containersIn(daemon, 'default')).toEqual(declaredIn(declared, undefined));
        expect(await containersIn(daemon, 'team')).toEqual(declaredIn(declared, 'team'));
      }
    }));

  test('a dry run on a copy predicts the apply', () =>
    law(async (daemon, documents, other) => {
      await apply(daemon, ...yaml(documents));
      // Some changes that only the daemon refuses.
      const pool = { kind: 'storage_pool', name: 'odd', driver: 'dir', config: { source: 'relative/path' } } as Written;
      const args = ['--allow-recreate', ...yaml(other.length % 2 === 0 ? [...other, pool] : other)];
      const tried = await gantry(daemon, 'apply', '--dry-run=server', ...args);
      expect(tried.stdout).not.toContain('not tried        project');
      const real = await gantry(daemon, 'apply', '--auto-approve', ...args);
      expect(tried.code, `${tried.stdout}\n${tried.stderr}\nbut then\n${real.stdout}\n${real.stderr}`).toBe(real.code);
    }, 2 * numRuns));

  test('an export of all projects has an empty plan', () =>
    law(async (daemon, documents) => {
      await apply(daemon, '--set', 'first', ...yaml(documents));
      const folder = join(material.folder(), 'live');
      const out = await gantry(daemon, 'export', '-o', folder, '--set', 'first');
      expect(out.code, out.stderr).toBe(0);
      await expectSettled(daemon, '--set', 'first', '-f', folder);
    }));

  test('a destroy deletes the contents of a project before the project', () =>
    law(async (daemon, documents) => {
      await apply(daemon, ...yaml(documents));
      const gone = await gantry(daemon, 'destroy', '--auto-approve', '--parallelism', '8', ...yaml(documents));
      expect(gone.code, `${gone.stdout}\n${gone.stderr}`).toBe(0);
      expect((await daemon.client.list('project')).map(({ name }) => name)).toEqual(['default']);
      expect(await daemon.client.list('container')).toEqual([]);
    }));
});
