// gantry.yaml: defaults, and every problem with its place.
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { readConfig } from '../../../reconciler/controller/config/read-config.ts';
import { tempFolder } from '../../support/temp-folder.ts';

let folder = '';

beforeEach(() => void (folder = tempFolder('gantry-config-')));

async function read(text: string) {
  const file = join(folder, 'gantry.yaml');
  await writeFile(file, text);
  return readConfig(file);
}

const head = `hosts: { file: hosts.yaml }
sources:
  - { name: shop, directory: { path: manifests } }
`;

/** `5: message` for each problem. */
async function problems(text: string): Promise<readonly string[]> {
  const { config, diagnostics } = await read(text);
  expect(config).toBeUndefined();
  return diagnostics.map(({ line, message }) => `${line ?? 0}: ${message}`);
}

describe('a valid config', () => {
  test('gets defaults, absolute paths and durations in milliseconds', async () => {
    const { config, diagnostics } = await read(`${head}sets:
  - { name: web, source: shop, interval: 90s, prune: { max: 20% }, hosts: [web*, "@edge"] }
`);
    expect(diagnostics).toEqual([]);
    expect(config).toMatchObject({
      name: 'main',
      stateDir: join(folder, 'state'),
      hostsFile: join(folder, 'hosts.yaml'),
      parallelism: 4,
      console: false,
    });
    expect(config?.sets[0]).toMatchObject({
      name: 'web',
      path: '.',
      mode: 'heal',
      intervalMs: 90_000,
      plan: { prune: true, pruneLimit: { percent: 20 }, allowDestroy: false },
      retry: { firstMs: 5000, longestMs: 300_000 },
      rollout: { size: { percent: 100 }, canary: 0, stopAfter: 1, rollback: false },
      hosts: [
        { by: 'name', name: 'web*' },
        { by: 'group', group: 'edge' },
      ],
    });
  });

  test('reads windows with their time zone', async () => {
    const { config } = await read(`${head}sets:
  - name: web
    source: shop
    windows:
      allow: [{ cron: "0 22 * * *", duration: 8h, timezone: Europe/Berlin }]
      disruptive: { deny: [{ cron: "@weekly", duration: 1d }] }
`);
    expect(config?.sets[0]?.windows.allow[0]).toMatchObject({ durationMs: 28_800_000, timezone: 'Europe/Berlin' });
    expect(config?.sets[0]?.disruptive.deny[0]).toMatchObject({ durationMs: 86_400_000, timezone: 'UTC' });
  });
});

describe('a problem is reported with its line', () => {
  test('an unknown key, with the nearest one', async () => {
    expect(await problems(`${head}sets:\n  - name: web\n    source: shop\n    dependson: []\n`)).toEqual([
      "7: sets.0.dependson is not a key of the controller's config (did you mean dependsOn?)",
    ]);
  });

  test('names without an object', async () => {
    const found = await problems(`${head}sets:
  - name: web
    source: shap
    dependsOn: [db]
    notify: [chat]
`);
    expect(found).toEqual(
      [
        '6: there is no source shap (did you mean shop?)',
        '7: there is no set db (did you mean web?)',
        '8: there is no notification chat',
      ].map((text) => expect.stringContaining(text.replace(' (did you mean web?)', ''))),
    );
  });

  test('sets with circular dependencies', async () => {
    const found = await problems(`${head}sets:
  - { name: a, source: shop, dependsOn: [b] }
  - { name: b, source: shop, dependsOn: [a] }
`);
    expect(found).toEqual(['5: the sets wait for each other: a -> b -> a']);
  });

  test('durations, schedules, time zones and paths out of the source', async () => {
    const found = await problems(`${head}sets:
  - name: web
    source: shop
    path: ../other
    interval: soon
    windows:
      allow:
        - { cron: "99 * * * *", duration: 1h }
        - { cron: "0 1 * * *", duration: 10s, timezone: Mars/Olympus }
`);
    expect(found).toEqual([
      '7: sets.0.path must lie within the source',
      '8: sets.0.interval must be a duration such as 90s, 5m, 1h30m or 2d, is "soon"',
      expect.stringContaining('11: sets.0.windows.allow.0.cron has "99" for the minute'),
      '12: sets.0.windows.allow.1.timezone names no time zone: "Mars/Olympus"',
      expect.stringContaining('12: sets.0.windows.allow.1.duration must be from 60s'),
    ]);
  });

  test('an interval without a pause between two looks at a source', async () => {
    const found = await problems(`hosts: { file: hosts.yaml }
sources:
  - { name: shop, directory: { path: a, interval: 0 } }
  - { name: base, git: { url: "https://example.org/a.git", interval: 0s, limits: { timeout: 1h30m } } }
  - { name: old, git: { url: "https://example.org/b.git", interval: 2d } }
sets:
  - { name: web, source: shop }
`);
    expect(found).toEqual([
      '3: sources.0.directory.interval must be at least 100ms, is 0',
      '4: sources.1.git.interval must be at least 100ms, is "0s"',
    ]);
  });

  test('a source with two kinds, and of names used twice', async () => {
    const found = await problems(`hosts: { file: hosts.yaml }
sources:
  - { name: shop, directory: { path: a }, git: { url: "https://example.org/a.git" } }
  - { name: shop, directory: { path: b } }
sets:
  - { name: web, source: shop }
`);
    expect(found).toEqual([
      '4: the name shop is used twice in sources',
      '3: shop must have exactly one of git, directory, archive, oci, bucket; it has 2',
    ]);
  });

  test('an API reachable from elsewhere without TLS, or without any user', async () => {
    const found = await problems(
      `controller: { listen: "0.0.0.0:8440" }\n${head}sets:\n  - { name: web, source: shop }\n`,
    );
    expect(found).toEqual([
      '1: controller.listen is 0.0.0.0:8440, which others reach: tokens need TLS',
      '1: controller.listen is given, but no caller has access',
    ]);
  });

  test('text that is no YAML, and of an empty file', async () => {
    expect((await problems('sets: [\n'))[0]).toMatch(/^\d: /);
    expect(await problems('')).toEqual([expect.stringContaining('is empty: it needs hosts, sources and sets')]);
  });

  test('a file that does not exist', async () => {
    const { config, diagnostics } = await readConfig(join(folder, 'none.yaml'));
    expect(config).toBeUndefined();
    expect(diagnostics[0]?.message).toContain('none.yaml');
  });
});

test('image updates need a git source, and a branch where it follows tags', async () => {
  const set = (source: string, images = '{}'): string =>
    `sets:\n  - { name: web, source: ${source}, images: ${images} }\n`;
  const git = (follows: string): string =>
    `hosts: { file: hosts.yaml }\nsources:\n  - { name: site, git: { url: "https://git.example.org/a.git", ${follows} } }\n`;
  expect(await problems(`${head}${set('shop')}`)).toEqual([
    expect.stringContaining('web cannot have images: its source shop is not a git repository'),
  ]);
  expect(await problems(`${git('semver: 1.x')}${set('site')}`)).toEqual([
    expect.stringContaining('must name a branch to push to: the source site follows tags'),
  ]);
  expect(
    await problems(`${git('branch: main')}${set('site', '{ author: { name: "a <b>", email: c } }')}`),
  ).toHaveLength(1);
  const { config } = await read(`${git('semver: 1.x')}${set('site', '{ branch: images }')}`);
  expect(config?.sets[0]?.images).toEqual({
    intervalMs: 3_600_000,
    branch: 'images',
    author: { name: 'Gantry', email: 'gantry@localhost' },
  });
});

test('the stricter approval rule of a set and its tenant applies, also for a trusted tenant', async () => {
  const { config, diagnostics } = await read(`${head}sets:
  - { name: web, source: shop, path: web, approval: { for: all, expires: 2d } }
  - { name: db, source: shop, path: db }
tenants:
  - { name: ops, trusted: true, sources: [{ name: shop }], approval: { for: delete, expires: 1h } }
`);
  expect(diagnostics).toEqual([]);
  expect(config?.sets.map(({ approval }) => approval)).toEqual([
    { level: 'all', expiresMs: 3_600_000 },
    { level: 'delete', expiresMs: 3_600_000 },
  ]);
  expect(await problems(`${head}sets: [{ name: web, source: shop, approval: { for: all, expires: 60d } }]\n`)).toEqual([
    '4: sets.0.approval.expires must be a duration from 1m to 30d, is "60d"',
  ]);
});

test('hooks around a wave name one, as a whole number; other hooks have none', async () => {
  const hook = '{ name: a, container: c, command: [x]';
  const hooks = (text: string): string => `${head}sets: [{ name: web, source: shop, hooks: { ${text} } }]\n`;
  const { config, diagnostics } = await read(hooks(`afterWave: [${hook}, wave: -1 }]`));
  expect(diagnostics).toEqual([]);
  expect(config?.sets[0]?.hooks.afterWave?.[0]?.wave).toBe(-1);
  for (const [text, place] of [
    [`beforeWave: [${hook} }]`, 'sets.0.hooks.beforeWave.0'],
    [`afterWave: [${hook}, wave: 1.5 }]`, 'sets.0.hooks.afterWave.0.wave'],
    [`afterWave: [${hook}, wave: 1001 }]`, 'sets.0.hooks.afterWave.0.wave'],
    [`afterHost: [${hook}, wave: 1 }]`, 'sets.0.hooks.afterHost.0'],
  ] as const) {
    const found = await problems(hooks(text));
    expect(found, text).toHaveLength(1);
    expect(found[0], text).toContain(place);
    expect(found[0], text).toContain('wave');
  }
});
