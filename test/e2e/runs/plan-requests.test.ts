// The requests of a plan: each list once, whatever is declared, and the same number for few objects and many.
import { join } from 'node:path';
import { writeFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { cli } from '../../support/cli/io.ts';
import { openBench, type Bench } from '../../support/cli/daemon-with-manifests.ts';
import { countRequests } from '../../support/daemons/counting-proxy.ts';

let bench: Bench;
beforeAll(async () => {
  bench = await openBench('sim');
});
afterAll(() => bench.close());

async function requestsOfPlan(): Promise<readonly string[]> {
  writeFileSync(join(bench.dir, 'stack.yaml'), Object.values(bench.parts).join('---\n'));
  const proxy = await countRequests(bench.daemon.socketPath);
  try {
    const run = await cli(['plan', '-f', join(bench.dir, 'stack.yaml'), '--host', proxy.host]);
    expect(run.code, run.stderr).toBe(0);
    return [...proxy.requests];
  } finally {
    await proxy.close();
  }
}

test('a plan requests each list once, and no single object', async () => {
  const few = await requestsOfPlan();
  const lists = few.filter((line) => line.includes('recursion='));
  expect(lists.length).toBeGreaterThan(6);
  expect([...new Set(lists)].toSorted()).toEqual(lists.toSorted());
  for (let index = 0; index < 50; index += 1) {
    const name = `many${index}`;
    bench.parts[name] = `kind: container\nname: ${name}\nprofiles: [small]\nsource: { type: none }\nstate: stopped\n`;
  }
  await bench.apply();
  expect((await requestsOfPlan()).toSorted()).toEqual(few.toSorted());
});
