// Three members with a shared pool and one container that logs which of its starts is running to a file of that pool, which proves
// afterwards whether two ran at once.
import { existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buildBusyboxImage } from '../images/busybox.ts';
import { until } from '../until.ts';
import { done } from './form.ts';
import { asCandidate, type Member, threeMembers, type ThreeMembers } from './three-members.ts';

export const healedContainer = 'beat';

/** One start of the container: seconds since the host was booted. */
export interface Run {
  readonly id: string;
  readonly from: number;
  readonly to: number;
}

export interface HealingWorld extends ThreeMembers {
  /** The member with the container. */
  holder(): Promise<Member>;
  /** All starts so far, in order of their first line. */
  runs(): readonly Run[];
}

/** Writes ten lines a second: the boot id of this container, and the time. */
const script = `#!/bin/sh
id=$(cat /proc/sys/kernel/random/uuid)
while :; do read now rest < /proc/uptime; echo "$id $now" >> /beats; usleep 50000; done
`;

/** Seconds: the time to live of leases, and until a lost member is healed. */
export const healingTimes = { 'cluster.offline_threshold': '5', 'cluster.healing_threshold': '15' };

export async function openHealingWorld(gantryd: string): Promise<HealingWorld> {
  const parent = mkdtempSync(join(realpathSync(tmpdir()), 'gthw-'));
  const shared = join(parent, 'shared');
  mkdirSync(shared);
  const beats = join(shared, 'containers', healedContainer, 'rootfs/beats');
  let world: ThreeMembers | undefined;
  const remove = async (): Promise<void> => {
    await world?.remove();
    rmSync(parent, { recursive: true, force: true });
  };
  try {
    world = await threeMembers({ runtime: 'lxc', gantryd, etcdMembers: 1, parent });
    const [first] = world.members.map(asCandidate) as [ReturnType<typeof asCandidate>];
    await done(first, 'PATCH', '/1.0', { config: healingTimes });
    const config = { source: shared, 'source.shared': 'true' };
    await done(first, 'POST', '/1.0/storage-pools', { name: 'nfs', driver: 'dir', config });
    await addImage(world.members[1] as Member, join(parent, 'image'));
    const second = asCandidate(world.members[1] as Member);
    await done(second, 'POST', '/1.0/containers?target=member2', {
      name: healedContainer,
      source: { type: 'image', alias: 'beat' },
      devices: { root: { type: 'disk', path: '/', pool: 'nfs' } },
    });
    await done(second, 'PUT', `/1.0/containers/${healedContainer}/state`, { action: 'start' });
    await until(() => existsSync(beats) && runsOf(readFileSync(beats, 'utf8')).length > 0);
  } catch (error) {
    await remove();
    throw error;
  }
  const { members } = world;
  return {
    ...world,
    remove,
    runs: () => runsOf(readFileSync(beats, 'utf8')),
    async holder() {
      let found: Member | undefined;
      await until(async () => {
        for (const { gantryd: daemon } of members) {
          const shown = await daemon.get(`/1.0/containers/${healedContainer}`).catch(() => undefined);
          found = members.find(({ name }) => name === shown?.location);
          if (found !== undefined) return true;
        }
        return false;
      });
      return found as Member;
    },
  };
}

async function addImage({ gantryd }: Member, dir: string): Promise<void> {
  const busybox = { init: script, dhcp: false };
  const image = await buildBusyboxImage(dir, { busybox });
  const answer = await gantryd.call('POST', '/1.0/images', await readFile(image.metadataPath));
  const { metadata } = await gantryd.get(`${answer.body.operation as string}/wait`);
  const alias = { name: 'beat', target: metadata.fingerprint as string };
  if ((await gantryd.call('POST', '/1.0/images/aliases', alias)).status >= 300)
    throw new Error('no alias of the image');
}

/** Pure. The last line may be half written. */
export function runsOf(text: string): readonly Run[] {
  const found = new Map<string, { id: string; from: number; to: number }>();
  for (const line of text.split('\n').slice(0, -1)) {
    const [id = '', time = ''] = line.split(' ');
    const at = Number(time);
    const run = found.get(id);
    if (run === undefined) found.set(id, { id, from: at, to: at });
    else run.to = Math.max(run.to, at);
  }
  return [...found.values()].toSorted((a, b) => a.from - b.from);
}

/** Pairs of starts that ran at the same moment. Pure. */
export function overlaps(runs: readonly Run[]): readonly string[] {
  return runs.slice(1).flatMap((run, index) => {
    const before = runs[index] as Run;
    return run.from > before.to ? [] : [`${run.id} ran from ${run.from} on, and ${before.id} until ${before.to}`];
  });
}
