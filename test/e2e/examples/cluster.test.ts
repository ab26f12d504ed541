// The cluster example as in its tutorial: three daemons on the simulation, which run etcd themselves.
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { busyboxMissing } from '../../support/images/busybox-rootfs.ts';
import { buildShellPrograms, typeExample } from '../../support/cli/examples.ts';
import type { Programs } from '../../support/cli/programs.ts';
import { startGantryd, type Gantryd } from '../../support/daemons/gantryd.ts';
import { freePorts } from '../../support/hosts/free-port.ts';
import { etcdMissing } from '../../support/store/etcd.ts';

const missing = etcdMissing() ?? busyboxMissing();
if (missing !== undefined) console.log(`skipped: the example of a cluster: ${missing}`);

describe.skipIf(missing !== undefined)('the example of a cluster', () => {
  let programs: Programs;
  beforeAll(() => {
    programs = buildShellPrograms();
  });

  test(
    'is formed by three commands, applied, evacuated without a change of the plan, and destroyed',
    { timeout: 240_000 },
    async () => {
      const base = join(programs.root, 'cluster');
      const daemons: Gantryd[] = [];
      const ports: number[] = [];
      try {
        for (const name of ['one', 'two', 'three']) {
          mkdirSync(join(base, name), { recursive: true });
          daemons.push(await startGantryd(programs, { runtime: 'sim', dir: join(base, name) }));
          ports.push(await freePorts(3));
        }
        expect(new Set(ports).size).toBe(3);
        await typeExample(programs, {
          name: 'cluster',
          tutorial: 'cluster',
          env: { GANTRY_HOST: `unix://${base}/one/unix.socket`, CLUSTER_DIR: base, CLUSTER_PORTS: ports.join(' ') },
          typed: (command) => command.replaceAll('/tmp/cluster', base),
          printed: (text) => text.replaceAll(base, '/tmp/cluster'),
        });
        for (const kind of ['containers', 'images', 'storage-pools'])
          expect(await daemons[2]?.get(`/1.0/${kind}`)).toEqual([]);
      } finally {
        // Stopped one after another, the last two would wait for a lost quorum.
        await Promise.all(daemons.map((gantryd) => gantryd.stop()));
      }
    },
  );
});
