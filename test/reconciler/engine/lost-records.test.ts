// Records of objects whose kind has no config, after somebody deleted the object: against a daemon in memory.
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { useCliWorld } from '../../support/cli/world.ts';
import { fingerprintOf, liveAlias, liveImage } from '../../support/fakes/worlds.ts';

const here = useCliWorld();
const run = (...argv: readonly string[]): Promise<CliRun> =>
  cli([...argv, '--host', here.daemon.host], { env: { XDG_STATE_HOME: here.folder } });
const apply = (path: string, ...flags: readonly string[]): Promise<CliRun> => run('apply', '-y', path, ...flags);
const profile = (config: string): string => `kind: profile\nname: web\nconfig: {${config}}\n`;

describe('an object without config that was deleted by hand', () => {
  const fingerprint = fingerprintOf('base');
  const alias = `kind: image_alias\nname: base\ntarget: ${fingerprint}\n---\n`;

  test('is no longer of the set after its next run, so that a prune leaves what others make under that name', async () => {
    const { image, image_alias: aliases } = here.world.objects;
    image.set(fingerprint, { ...liveImage(fingerprint) });
    await apply(here.manifest(alias + profile('user.a: one')));
    aliases.delete('base');
    await apply(here.manifest(profile('user.a: two')));
    aliases.set('base', { ...liveAlias('base', fingerprint) });
    const pruned = await apply(here.manifest(profile('user.a: three')), '--prune', '--set', 'default');
    expect(pruned.code).toBe(0);
    expect(aliases.has('base')).toBe(true);
  });

  test('leaves no state of the set behind after a destroy', async () => {
    const { image, image_alias: aliases } = here.world.objects;
    image.set(fingerprint, { ...liveImage(fingerprint) });
    await apply(here.manifest(alias + profile('user.a: one')));
    aliases.delete('base');
    expect((await run('destroy', '-y', join(here.folder, 'main.yaml'))).code).toBe(0);
    expect(Object.keys(here.world.config).filter((key) => key.startsWith('user.gantry.set.'))).toEqual([]);
  });
});
