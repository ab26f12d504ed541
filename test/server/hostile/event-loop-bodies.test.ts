// No request body blocks the event loop longer than the limit that the daemon itself reports: every kind of body is sent to a daemon in
// a separate process, which counts how often its loop was blocked.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Endpoint } from '../../../server/api/endpoints/endpoint.ts';
import { endpoints } from '../../../server/api/endpoints/endpoint-table.ts';
import { settle } from '../../support/daemons/child-process.ts';
import { call } from '../../support/daemons/daemon.ts';
import { backupBodies, imageBodies, yamlBodies } from '../../support/hostile/files.ts';
import { openHeldDaemon, type HeldDaemon } from '../../support/hostile/event-loop-daemon.ts';
import { anyBodies, configBodies } from '../../support/hostile/json-bodies.ts';
import { isLongRun } from '../../support/left-out.ts';

let held: HeldDaemon;
beforeAll(async () => {
  held = await openHeldDaemon();
});
afterAll(() => held.close());

const place = (path: string): string => path.replace(/:[a-z]+/g, 'default').replace('*', 'x');
const withBody = (endpoints as readonly Endpoint[])
  .filter((row) => row.built && row.body !== undefined)
  .map((row) => [row.id, row.method, place(row.path)] as const);
const json = { 'content-type': 'application/json' };

/** Bodies in turns, so that each endpoint has some and each body is for several; with GANTRY_LONG=1 each for each. */
const inTurns = (bodies: Readonly<Record<string, string>>, at: number, turns: number): readonly string[] =>
  Object.keys(bodies).filter((_, index) => isLongRun || index % turns === at % turns);

describe.each(withBody.map((row, at) => [...row, at] as const))('%s', (_id, method, path, at) => {
  test('JSON that is deep, wide or long does not block the loop', async () => {
    await held.expectFree(async () => {
      for (const what of inTurns(anyBodies, at, 12)) {
        const { status } = await call(held.daemon, method, path, anyBodies[what], json);
        expect(status, what).toBeLessThan(500);
      }
    });
  });
});

const withConfig = withBody.filter(([id]) => /^(containers|profiles)\.(create|put|patch)$/.test(id));
describe.each(withConfig.map((row, at) => [...row, at] as const))(
  '%s with config and devices',
  (_id, method, path, at) => {
    test.each(inTurns(configBodies, at, 3))('is not blocked by %s', async (what) => {
      await held.expectFree(() => settle(held.daemon, method, path, Buffer.from(configBodies[what] ?? '')));
    });
  },
);

// Images and backups have one reader of YAML: every second of its bodies is an image, the others are backups; a long run has all as both.
const yaml = Object.keys(yamlBodies);
const without = (bodies: Readonly<Record<string, Buffer>>, place: string, turn: number): readonly string[] =>
  Object.keys(bodies).filter(
    (what) => isLongRun || !yaml.some((one, at) => what === `${place}: ${one}` && at % 2 === turn),
  );

describe('an image', () => {
  const bodies = imageBodies();
  test.each(without(bodies, 'metadata.yaml', 0))(
    'does not block the loop with %s',
    async (what) => {
      await held.expectFree(() => settle(held.daemon, 'POST', '/1.0/images', bodies[what]));
    },
    600_000,
  );
});

describe('a backup', () => {
  const bodies = backupBodies();
  test.each(without(bodies, 'index.yaml', 1))(
    'does not block the loop with %s',
    async (what) => {
      await held.expectFree(async () => {
        const headers = { 'content-type': 'application/octet-stream', 'x-svc-name': 'h' };
        const answer = await call(held.daemon, 'POST', '/1.0/containers', bodies[what], headers);
        if (answer.status === 202) await call(held.daemon, 'GET', `${answer.body.operation as string}/wait`);
      });
    },
    600_000,
  );
});
