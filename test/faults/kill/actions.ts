// The actions on a running container during which a daemon may die: each action, the state it needs before, and its death.
import { join } from 'node:path';
import { errorText } from '../../../server/lib/shared/reason.ts';
import { settle } from '../../support/daemons/child-process.ts';
import type { Death } from './doomed-daemon.ts';
import { findings, settled } from './usable.ts';
import { container, containerPath, devicesOf, done, usualConfig, type KillWorld } from './world.ts';

interface Action {
  /** The required state of the container. */
  readonly before: 'Running' | 'Stopped' | 'Frozen';
  /** Its devices, when not the usual ones. */
  readonly devices?: object;
  readonly request: readonly [method: string, path: string, body: object];
}

const change = (action: string, force = false): Action['request'] => [
  'PUT',
  `${containerPath}/state`,
  { action, timeout: 20, force },
];

export const actionNames = [
  'start',
  'stop',
  'forced stop',
  'restart',
  'freeze',
  'unfreeze',
  'plug',
  'unplug',
  'limits',
  'restore',
] as const;
export type ActionName = (typeof actionNames)[number];

function actionOf(world: KillWorld, name: ActionName): Action {
  const devices = devicesOf(world);
  const extra = { type: 'disk', source: join(world.dir, 'shared'), path: '/srv/extra' };
  const more = { ...devices, extra, second: { type: 'nic', nictype: 'p2p', name: 'eth1' } };
  const limits = { 'limits.memory': '96MiB', 'limits.processes': '200' };
  const usual = { profiles: ['default'], config: usualConfig, devices };
  const actions: Readonly<Record<ActionName, Action>> = {
    start: { before: 'Stopped', request: change('start') },
    stop: { before: 'Running', request: change('stop') },
    'forced stop': { before: 'Running', request: change('stop', true) },
    restart: { before: 'Running', request: change('restart', true) },
    freeze: { before: 'Running', request: change('freeze') },
    unfreeze: { before: 'Frozen', request: change('unfreeze') },
    plug: { before: 'Running', request: ['PATCH', containerPath, { devices: more }] },
    unplug: { before: 'Running', devices: more, request: ['PUT', containerPath, usual] },
    limits: { before: 'Running', request: ['PATCH', containerPath, { config: limits }] },
    restore: { before: 'Stopped', request: ['PUT', containerPath, { restore: 'snap' }] },
  };
  return actions[name];
}

/** The container in the state that an action needs, with its initial devices and limits. */
async function prepare(world: KillWorld, name: ActionName): Promise<void> {
  const { before, devices = devicesOf(world) } = actionOf(world, name);
  const { child } = world.daemon;
  await done(child, 'PUT', containerPath, { profiles: ['default'], config: usualConfig, devices });
  const { status } = await settled(child, container);
  const set = (action: string): Promise<void> =>
    done(child, 'PUT', `${containerPath}/state`, { action, force: action === 'stop' });
  if (status !== before && status === 'Frozen') await set('unfreeze');
  if (before === 'Stopped' && status !== 'Stopped') await set('stop');
  if (before !== 'Stopped' && status === 'Stopped') await set('start');
  if (before === 'Frozen' && status !== 'Frozen') await set('freeze');
  if (name !== 'restore') return;
  const taken = await settle(child, 'GET', `${containerPath}/snapshots/snap`);
  if (taken.status === 404) await done(child, 'POST', `${containerPath}/snapshots`, { name: 'snap' });
}

/** Number of the action's effects on the host without a death. */
export async function countEffects(world: KillWorld, name: ActionName): Promise<number> {
  await prepare(world, name);
  await world.daemon.effects();
  await done(world.daemon.child, ...actionOf(world, name).request);
  return world.daemon.effects();
}

export interface Outcome {
  /** The effect at which the daemon died. */
  readonly where: string;
  readonly wrong: readonly string[];
  readonly left: readonly string[];
}

/**
 * Kills the daemon at that effect (or after the action's end), starts the next one, and checks the container, which is stopped then.
 */
export async function dieAt(world: KillWorld, name: ActionName, death: Death): Promise<Outcome> {
  const { daemon } = world;
  await prepare(world, name);
  await daemon.arm(death);
  await settle(daemon.child, ...actionOf(world, name).request).catch(() => undefined);
  if (daemon.diedAt === undefined) await daemon.kill();
  else await daemon.child.exited;
  const where = `${world.runtime}, ${name}, effect ${death.effect}: ${daemon.diedAt ?? 'after its end'}`;
  const child = await daemon.start();
  try {
    const { wrong, left } = await findings(world, child, container);
    const log = wrong.length + left.length === 0 ? [] : child.log;
    return { where, wrong: [...wrong, ...log], left };
  } catch (error) {
    return { where, wrong: [errorText(error), ...child.log], left: [] };
  }
}
