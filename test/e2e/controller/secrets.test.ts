// Secrets of a source: a set decrypts them with the key that gantry.yaml gives it, and brings a rotated one to its hosts.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { hasStatus, openControllerWorld, waitMs, type ControllerWorld } from '../../support/controller/world.ts';
import { ageKey, canEncrypt, sopsText } from '../../support/controller/sops.ts';
import { until } from '../../support/until.ts';

let world: ControllerWorld;
afterEach(() => world.close());

test.runIf(canEncrypt)(
  'a secret that sops encrypted reaches its host, a rotated one too, and a set without the key says what it needs',
  async () => {
    world = await openControllerWorld(1);
    const [mine, other] = [ageKey(), ageKey()];
    await writeFile(join(world.folder, 'age.txt'), mine.secret, { mode: 0o600 });
    await writeFile(join(world.folder, 'other.txt'), other.secret, { mode: 0o600 });
    const profile = 'kind: profile\nname: web\nconfig: { user.password: { from_sops: "secrets.enc#password" } }\n';
    const secret = (password: string): Promise<void> =>
      writeFile(join(world.folder, 'manifests/secrets.enc'), sopsText({ password }, mine));
    await world.write('web.yaml', profile);
    await secret('first secret');
    const config = (key: string) => `hosts: { file: hosts.yaml }
sources: [{ name: shop, directory: { path: manifests, interval: 200ms } }]
sets: [{ name: web, source: shop, path: web.yaml, secrets: { ageKeyFile: ${key} } }]
`;
    await world.start(config('age.txt'));
    await hasStatus(world, 'web', 'synced');
    expect((await world.profile(1, 'web'))?.['user.password']).toBe('first secret');
    await secret('second secret');
    await until(async () => (await world.profile(1, 'web'))?.['user.password'] === 'second secret', waitMs);
    await hasStatus(world, 'web', 'synced');
    expect(JSON.stringify([world.hub.lines(), world.engine.history('web'), world.engine.overview()])).not.toMatch(
      /(first|second) secret/,
    );
    await world.stop();
    await world.start(config('other.txt'));
    await secret('third secret');
    const problems = () => world.engine.overview().sets[0]?.problems ?? [];
    await until(() => problems().length > 0, waitMs);
    expect(problems()[0]).toContain('none of the age keys decrypts it');
    expect((await world.profile(1, 'web'))?.['user.password']).toBe('second secret');
  },
);
