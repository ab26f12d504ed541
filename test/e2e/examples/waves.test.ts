// examples/waves on a simulated host: its hooks run between its waves. controller/hooks.test.ts has failures of such hooks.
import { cp, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { exampleFolder } from '../../support/cli/examples.ts';
import { hasStatus, openControllerWorld, waitMs, type ControllerWorld } from '../../support/controller/world.ts';
import { until } from '../../support/until.ts';

let world: ControllerWorld;
beforeEach(async () => {
  world = await openControllerWorld(1);
  await cp(join(exampleFolder('waves'), 'shop'), join(world.folder, 'shop'), { recursive: true });
  await manifest((text) => text.replaceAll(/source: .*/g, 'source: { type: none }'));
});
afterEach(() => world.close());

/** The simulated host has no image. */
async function manifest(change: (text: string) => string): Promise<void> {
  const file = join(world.folder, 'shop/shop.yaml');
  const text = await readFile(file, 'utf8');
  expect(change(text)).not.toBe(text);
  await writeFile(file, change(text));
}
const config = (): Promise<string> => readFile(join(exampleFolder('waves'), 'gantry.yaml'), 'utf8');
const release = (to: string): Promise<void> =>
  manifest((text) => text.replaceAll(/RELEASE: "\d"/g, `RELEASE: "${to}"`));
const releases = (): Promise<readonly (string | undefined)[]> =>
  Promise.all(
    ['shop-db', 'shop-web1', 'shop-web2'].map(async (name) => {
      const found = await world.daemons[0]?.client.get('container', name).catch(() => undefined);
      return found?.metadata.config?.['environment.RELEASE'];
    }),
  );
const hooks = (): readonly string[] =>
  world.hub.lines({ limit: 5000 }).flatMap(({ message }) => {
    const [, name, outcome] = /^the hook (\w+) \(\w+\) (is done|was left out|failed)/.exec(message) ?? [];
    return name === undefined ? [] : [`${name} ${outcome ?? ''}`];
  });
const printed = (): string =>
  world.hub
    .lines({ limit: 5000 })
    .map(({ message }) => message)
    .join('\n');

test('the first revision makes the waves in turn, and the next one saves, changes the schema and drains between them', async () => {
  await world.start(await config());
  await hasStatus(world, 'shop', 'synced');
  expect(await releases()).toEqual(['1', '1', '1']);
  expect(hooks()).toEqual(['backup was left out', 'schema is done', 'drain was left out', 'smoke is done']);
  expect(printed()).toContain('schema of release 1');
  await release('2');
  await until(async () => (await releases()).join() === '2,2,2', waitMs);
  await until(() => hooks().length === 8, waitMs);
  expect(hooks().slice(4)).toEqual(['backup is done', 'schema is done', 'drain is done', 'smoke is done']);
  expect(printed()).toContain('schema of release 2');
});
