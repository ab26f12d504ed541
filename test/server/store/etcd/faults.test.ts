// One round of each fault of an etcd of three members: no acknowledged write is lost, none is torn, watchers see everything.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { etcdFaultNames, etcdFaults } from '../../../faults/etcd/faults.ts';
import { type EtcdWorld, openEtcdWorld, underFault } from '../../../faults/etcd/world.ts';
import { seededRandom } from '../../../support/random.ts';
import { etcdMissing } from '../../../support/store/etcd.ts';

const missing = etcdMissing();

describe.skipIf(missing !== undefined)('etcd of three members', () => {
  let world: EtcdWorld;
  beforeAll(async () => {
    world = await openEtcdWorld();
  });
  afterAll(() => world?.close());

  test.each(etcdFaultNames)('keeps what it has acknowledged when %s', async (name) => {
    const random = seededRandom();
    const verdict = await underFault(world, name, () => etcdFaults[name](world, random));
    expect(verdict.wrong, `GANTRY_SEED=${random.seed}`).toEqual([]);
    expect(verdict.acknowledged).toBeGreaterThan(40);
  });
});
