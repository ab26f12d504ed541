// Invalid manifests: all their problems at once, each with its place, and no request reaches the daemon.
import { readdirSync } from 'node:fs';
import { join, sep } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cli, type CliRun } from '../../support/cli/io.ts';
import { makeDaemon, type TestDaemon } from '../../support/daemons/daemon.ts';
import { countRequests, type CountingProxy } from '../../support/daemons/counting-proxy.ts';
import { repository } from '../../support/cli/programs.ts';
import { expectGolden } from '../../support/golden.ts';

const fixtures = join(repository, 'test', 'fixtures', 'bad');
const files = readdirSync(fixtures).filter((name) => name.endsWith('.yaml'));

/** Problems that need the server's state; all others are found before the first request. */
const askTheServer = ['empty.yaml', 'missing-references.yaml'];

let daemon: TestDaemon;
let proxy: CountingProxy;
beforeAll(async () => {
  daemon = await makeDaemon();
  proxy = await countRequests(daemon.socketPath);
});
afterAll(async () => {
  await proxy.close();
  await daemon.cleanUp();
});

const gantry = (verb: string, file: string, ...more: readonly string[]): Promise<CliRun> =>
  cli([verb, '-f', join(fixtures, file), ...(verb === 'validate' ? [] : ['--host', proxy.host]), ...more]);

const readable = (text: string): string => text.replaceAll(`${repository}${sep}`, '');

/** `file:line:column` of each diagnostic. */
const places = (text: string): readonly string[] =>
  [...text.matchAll(/^ *--> (\S+:\d+:\d+)/gm)].map(([, place]) => place ?? '');

describe('an invalid manifest', () => {
  test.each(files)('%s is reported problem by problem, and no change is sent', async (file) => {
    proxy.requests.length = 0;
    proxy.connections = 0;
    const run = await gantry('apply', file, '--auto-approve');
    expectGolden(`bad/${file.replace('.yaml', '.txt')}`, readable(run.stderr));
    if (file !== 'empty.yaml') {
      expect(run.code).toBe(1);
      expect(run.stdout).toBe('');
      const found = Number(/^(\d+) errors?$/m.exec(run.stderr)?.[1]);
      expect(places(run.stderr).length, 'diagnostics with a place').toBe(found);
      for (const place of places(run.stderr)) expect(place).toContain(`bad/${file}:`);
    }
    const written = proxy.requests.filter((line) => !line.startsWith('GET '));
    expect(written).toEqual([]);
    if (!askTheServer.includes(file)) expect(proxy.connections, 'connections to the daemon').toBe(0);
    else expect(proxy.requests.length, 'the proxy records requests').toBeGreaterThan(0);
  });

  test.each(files.filter((file) => file !== 'empty.yaml'))('validate refuses %s too', async (file) => {
    const run = await gantry('validate', file);
    // Unknown names may exist on the server: a warning.
    const isWarned = file === 'missing-references.yaml' && run.code === 0;
    if (!isWarned) expect(run.code).toBe(1);
    expect(places(run.stderr).length).toBeGreaterThan(0);
  });

  test('as JSON has the same diagnostics, each with its range', async () => {
    const run = await gantry('plan', 'unknown-keys.yaml', '--json');
    const lines = run.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    const found = lines.flatMap((line) => (line['diagnostic'] as { range?: object } | undefined) ?? []);
    const text = await gantry('plan', 'unknown-keys.yaml');
    expect(found.filter((diagnostic) => diagnostic.range !== undefined).length).toBe(places(text.stderr).length);
    expect(found[0]).toMatchObject({
      severity: 'error',
      summary: 'unknown kind contaner (did you mean container?)',
      range: { filename: join(fixtures, 'unknown-keys.yaml'), start: { line: 2, column: 7 } },
    });
  });

  test('stops its whole set, including the valid files', async () => {
    proxy.connections = 0;
    const run = await cli(['apply', '-f', fixtures, '--auto-approve', '--host', proxy.host]);
    expect(run.code).toBe(1);
    expect(proxy.connections).toBe(0);
    const seen = new Set(places(run.stderr).map((place) => /bad\/([^:]+):/.exec(place)?.[1]));
    // Further problems are reported in the second round, when each document is valid.
    expect(files.filter((file) => !seen.has(file))).toEqual(askTheServer);
  });
});
