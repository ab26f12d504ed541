// Three daemons on separate hosts with real containers, which reach each other over a vxlan, move, and run commands through any member.
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { done } from '../../support/cluster/form.ts';
import { hostsMissing } from '../../support/cluster/hosts.ts';
import {
  asCandidate,
  clusterPool,
  type Member,
  threeMembers,
  type ThreeMembers,
} from '../../support/cluster/three-members.ts';
import { buildPrograms, type Programs, runGantry } from '../../support/cli/programs.ts';
import { realRuntimeMissing } from '../../support/daemons/daemon.ts';
import { freeSubnet } from '../../support/hosts/free-resources.ts';
import { buildBusyboxImage } from '../../support/images/busybox.ts';
import { etcdMissing } from '../../support/store/etcd.ts';
import { until } from '../../support/until.ts';
import { tempFolder } from '../../support/temp-folder.ts';

const missing = etcdMissing() ?? hostsMissing() ?? (await realRuntimeMissing());
if (missing !== undefined) console.log(`skipped: real containers of three hosts: ${missing}`);

describe.skipIf(missing !== undefined)('real containers of three hosts', () => {
  const parent = tempFolder('gt3h-');
  let programs: Programs;
  let world: ThreeMembers;
  let prefix: string;
  /** The container of each member. */
  const containers = ['c1', 'c2', 'c3'];
  const addressOf = (name: string): string => `${prefix}.${name.slice(1)}`;

  beforeAll(async () => {
    programs = buildPrograms();
    prefix = freeSubnet();
    world = await threeMembers({ runtime: 'lxc', gantryd: programs.gantryd, etcdMembers: 1, parent, ownSys: true });
    const first = member(1);
    const config = {
      'ipv4.address': 'none',
      'ipv6.address': 'none',
      'tunnel.mesh.protocol': 'vxlan',
      'tunnel.mesh.interface': 'eth0',
    };
    await sent(first, 'POST', '/1.0/networks', { name: 'mesh0', config });
    await addImage(first);
    for (const [index, name] of containers.entries()) {
      await sent(first, 'POST', `/1.0/containers?target=member${index + 1}`, {
        name,
        source: { type: 'image', alias: 'box' },
        devices: {
          root: { type: 'disk', path: '/', pool: clusterPool },
          eth0: { type: 'nic', network: 'mesh0', name: 'eth0' },
        },
      });
      await start(name);
    }
  });
  afterAll(() => world?.remove());

  const member = (number: number): Member => world.members[number - 1] as Member;
  const sent = (to: Member, method: string, path: string, body?: object) => done(asCandidate(to), method, path, body);
  /** Runs a command through the first member, which only has c1. */
  const run = (name: string, words: readonly string[], stdin?: string) =>
    runGantry(programs, ['exec', name, '--', ...words], {
      env: { GANTRY_HOST: member(1).gantryd.host },
      ...(stdin === undefined ? {} : { stdin }),
    });
  const exec = (name: string, ...words: readonly string[]) => run(name, words);
  async function start(name: string): Promise<void> {
    await sent(member(1), 'PUT', `/1.0/containers/${name}/state`, { action: 'start' });
    const script = `ip addr add ${addressOf(name)}/24 dev eth0; ip link set dev eth0 up`;
    expect(await exec(name, 'sh', '-c', script)).toMatchObject({ code: 0, stderr: '' });
  }
  async function addImage(to: Member): Promise<void> {
    const image = await buildBusyboxImage(join(parent, 'image'), { busybox: { dhcp: false } });
    const answer = await to.gantryd.call('POST', '/1.0/images', await readFile(image.metadataPath));
    const { metadata } = await to.gantryd.get(`${answer.body.operation as string}/wait`);
    await sent(to, 'POST', '/1.0/images/aliases', { name: 'box', target: metadata.fingerprint as string });
  }
  const reaches = async (from: string, to: string): Promise<void> =>
    until(async () => (await exec(from, 'ping', '-c', '1', '-W', '2', addressOf(to))).code === 0);
  const placeOf = async (name: string): Promise<string> =>
    (await member(3).gantryd.get(`/1.0/containers/${name}`)).location as string;

  test('reach each other by address over the vxlan of the network', async () => {
    expect(await Promise.all(containers.map(placeOf))).toEqual(['member1', 'member2', 'member3']);
    await reaches('c1', 'c2');
    await reaches('c2', 'c3');
    await reaches('c3', 'c1');
  });

  test('run commands through another member, with input, output and exit code', async () => {
    const ran = await run('c3', ['sh', '-c', 'cat; hostname >&2; exit 7'], 'through\n');
    expect(ran).toMatchObject({ code: 7, stdout: 'through\n', stderr: 'c3\n' });
  });

  test('move with their files to another host, and keep their address there', async () => {
    expect((await exec('c2', 'sh', '-c', 'echo kept > /mark')).code).toBe(0);
    await sent(member(1), 'PUT', '/1.0/containers/c2/state', { action: 'stop', force: true });
    await sent(member(1), 'POST', '/1.0/containers/c2?target=member3', { name: 'c2', migration: true });
    expect(await placeOf('c2')).toBe('member3');
    await start('c2');
    expect(await exec('c2', 'cat', '/mark')).toMatchObject({ code: 0, stdout: 'kept\n' });
    await reaches('c1', 'c2');
    await reaches('c2', 'c3');
  });
});
