// The unmodified pylxd, Ansible and `lxd init` work on gantryd as in the table of clients.
import { readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { clientRows } from '../../../docs/generate/lxd-clients.ts';
import { realRuntimeMissing } from '../../support/daemons/daemon.ts';
import { clientMissing, runProgram } from '../../support/hosts/lxd-clients.ts';
import { busyboxMissing } from '../../support/images/busybox-rootfs.ts';
import { isLongRun } from '../../support/left-out.ts';
import { ansiblePlays, inventoryOf, playOf, resultsOf } from './ansible-plays.ts';
import { initProofs } from './init-proofs.ts';
import { makeClientWorld, password, type ClientWorld } from './world.ts';

const missing = {
  sim: busyboxMissing(),
  lxc: isLongRun ? await realRuntimeMissing() : 'GANTRY_LONG=1 runs them',
  pylxd: clientMissing('pylxd'),
  ansible: clientMissing('ansible'),
  init: clientMissing('lxd'),
};
for (const [what, why] of Object.entries(missing))
  if (why !== undefined) console.log(`skipped: clients of LXD: ${what}: ${why}`);

const script = join(import.meta.dirname, 'pylxd_examples.py');
const examples = [...readFileSync(script, 'utf8').matchAll(/^def (\w+)\(client\):/gm)].map(([, name]) => name ?? '');
const streams = /execute|migrate|authenticate|^files|image_copy|events/;
const waysOf = {
  socket: examples.filter((name) => isLongRun || !streams.test(name)),
  TLS: examples.filter((name) => isLongRun || streams.test(name)),
};

test('the table of clients names each proof once, and no other', () => {
  const named = clientRows.flatMap(({ shownBy }) => shownBy.split(' '));
  const proofs = [...examples, ...Object.keys(ansiblePlays('n')), 'inventory', ...Object.keys(initProofs)];
  expect(named.toSorted()).toEqual(proofs.toSorted());
  expect(clientRows.filter(({ state, note }) => state !== 'works' && note === '')).toEqual([]);
});

describe.each(['sim', 'lxc'] as const)('on %s', (runtime) => {
  describe.skipIf(missing[runtime] !== undefined)('with two daemons', () => {
    let world: ClientWorld;
    beforeAll(async () => {
      world = await makeClientWorld(runtime);
    });
    afterAll(() => world?.cleanUp());

    async function pylxd(way: 'socket' | 'TLS'): Promise<Record<string, string>> {
      const { first, second, images, streams: remote, direct } = world;
      const asked = {
        examples: waysOf[way],
        endpoint: way === 'TLS' ? first.https : `http+unix://${encodeURIComponent(first.socket)}`,
        ca: way === 'TLS' ? first.ca : true,
        other: second.https,
        other_ca: second.ca,
        ...(await world.keyPair(`own-${way}`)),
        other_cert: (await world.keyPair(`other-${way}`)).cert,
        password,
        prefix: way.toLowerCase(),
        seconds: 100,
        ...images,
        streams: { server: remote.url, alias: 'busy/1' },
        url: `${direct.url}/image`,
      };
      // Authorities in the environment would override `verify`.
      const env = { HOME: world.work, REQUESTS_CA_BUNDLE: '', CURL_CA_BUNDLE: '' };
      const ran = await runProgram('/usr/bin/python3', [script], { stdin: JSON.stringify(asked), env });
      expect([ran.code, ran.stderr]).toEqual([0, '']);
      const lines = ran.stdout.trim().split('\n');
      return Object.fromEntries(lines.map((line) => JSON.parse(line) as [string, string]));
    }

    test.skipIf(missing.pylxd !== undefined).each(['socket', 'TLS'] as const)(
      'pylxd runs the examples of its documentation over %s',
      async (way) => {
        expect(await pylxd(way)).toEqual(Object.fromEntries(waysOf[way].map((name) => [name, 'works'])));
      },
    );

    test.skipIf(missing.ansible !== undefined)(
      'Ansible makes, changes and removes containers, profiles and projects over TLS, and changes nothing twice',
      // Ansible starts a Python for each of its tasks.
      { timeout: 700_000 },
      async () => {
        const { first, work } = world;
        const pair = await world.keyPair('ansible');
        const connection = { url: first.https, client_cert: pair.cert, client_key: pair.key, trust_password: password };
        const tasks = Object.values(ansiblePlays('ansible')).flat();
        const play = join(work, 'play.yml');
        writeFileSync(play, playOf(tasks, connection));
        const env = {
          HOME: work,
          ANSIBLE_LOCALHOST_WARNING: '0',
          ANSIBLE_STDOUT_CALLBACK: 'json',
          ANSIBLE_INVENTORY_ENABLED: 'auto,host_list',
          SSL_CERT_FILE: first.ca,
        };
        const ran = await runProgram('ansible-playbook', ['-i', 'localhost,', play], { env, limitMs: 600_000 });
        expect(ran.stderr).toBe('');
        const results = resultsOf(ran.stdout);
        for (const [at, { module, args, changes, fails }] of tasks.entries()) {
          const { changed, failed = false, msg = '' } = results[at] ?? { changed: undefined };
          expect([module, args, changed, failed, msg]).toEqual([
            module,
            args,
            changes,
            fails !== undefined,
            expect.stringMatching(fails ?? /^$/),
          ]);
        }
        for (const path of ['projects', 'profiles', 'containers'])
          expect((await first.daemon.call('GET', `/1.0/${path}/ansible`)).status).toBe(404);

        writeFileSync(join(work, 'host.lxd.yml'), inventoryOf(first.socket));
        const inventory = await runProgram('ansible-inventory', ['-i', join(work, 'host.lxd.yml'), '--list'], { env });
        expect(inventory.stderr).toMatch(/There is\s+no endpoint GET \/1\.0\/instances/);
      },
    );

    test.skipIf(missing.init !== undefined)('lxd init carries out and writes preseed documents', async () => {
      const dir = dirname(world.second.socket);
      const init = (args: readonly string[], stdin = '') =>
        runProgram('lxd', ['init', ...args], { stdin, env: { LXD_DIR: dir, HOME: world.work } });
      for (const prove of Object.values(initProofs)) await prove(init, world.second.daemon);
    });
  });
});
