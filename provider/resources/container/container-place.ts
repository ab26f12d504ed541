// The cluster member of a container: plans another target, and moves the container at apply.
import type { Container } from '../../../server/api/container/container.ts';
import { pathOf } from '../../../server/client/kind-paths.ts';
import type { Link } from '../../connection/link.ts';
import { clusterMembers } from '../../connection/cluster-members.ts';
import { DiagnosticError, failure, warning } from '../../framework/diagnostic.ts';
import type { Context } from '../../framework/object-type.ts';
import { at } from '../../framework/path.ts';
import type { PlanHook } from '../../framework/provider.ts';
import { equalValues, isUnknown, unknownValue, type Value } from '../../framework/value.ts';
import { nonEmpty } from '../shared/config-maps.ts';
import { isAt, isAway, membersFor, targetProblem } from '../shared/placement.ts';
import { hasUnknownOutcome, perform } from '../shared/write.ts';
import type { ContainerAttributes, ContainerState } from './container-attributes.ts';

/** Resolves to whether the container moves. */
export async function planTarget(hook: PlanHook<ContainerAttributes, Link>): Promise<boolean> {
  const { config, prior, planned, client, isImported, add } = hook;
  if (config.target === null) planned.target = prior?.target ?? null;
  const { target } = planned;
  if (prior !== null && isUnknown(target)) planned.location = unknownValue;
  if (client === undefined || typeof target !== 'string' || target === '' || target === prior?.target) return false;
  // During an apply, the move itself checks.
  if (client.activity.hasWritten && prior === null) return false;
  const members = await membersFor(client, 'containers');
  const location = prior?.location ?? '';
  if (prior !== null && isAt(target, location, members)) {
    // The target of an import is equivalent, so nothing changes. Another change takes the written one into the state.
    if (isImported && nonEmpty(prior.target) !== null && isOnlyTarget(hook, prior)) planned.target = prior.target;
    return false;
  }
  if (prior !== null && isAway((await client.client.get('container', prior.name)).metadata.config)) return false;
  const problem = targetProblem(target, members);
  if (problem !== undefined) add(problem);
  if (prior === null) return false;
  planned.location = unknownValue;
  return true;
}

/** Whether the plan changes nothing else. What an apply fills in differs only because of the target. */
const isOnlyTarget = ({ config, planned }: PlanHook<ContainerAttributes, Link>, prior: ContainerState): boolean =>
  (Object.keys(prior) as (keyof ContainerState)[]).every(
    (name) =>
      name === 'target' ||
      (config[name] === null && isUnknown(planned[name])) ||
      equalValues(prior[name] as Value, planned[name] as Value),
  );

/** The target of a container that has to move; undefined when it is where it should be. */
export async function moveTarget(
  { client, warn }: Context<Link>,
  { target: planned }: ContainerState,
  { name, location, config }: Container,
): Promise<string | undefined> {
  const target = nonEmpty(planned);
  if (target === null || target === location) return undefined;
  const members = await membersFor(client, 'containers');
  if (isAt(target, location, members)) return undefined;
  if (isAway(config)) {
    const detail = `An evacuation moved it away from ${config['volatile.evacuate.origin'] ?? ''}. It moves to ${target} with the first apply after that member is restored.`;
    warn(warning(`The container ${name} stays on ${location}`, detail));
    return undefined;
  }
  const problem = targetProblem(target, members);
  if (problem !== undefined) throw new DiagnosticError([problem]);
  return target;
}

/** Moves a stopped container. */
export async function moveTo(context: Context<Link>, name: string, target: string): Promise<void> {
  const { client, signal } = context;
  const call = { method: 'POST', path: pathOf('container', name), query: { target }, json: { name, migration: true } };
  try {
    await perform(context, () => client.client.http.send({ ...call, method: 'POST' }, signal));
  } catch (error) {
    signal.throwIfAborted();
    if (!hasUnknownOutcome(error)) throw error;
    const { metadata } = await client.client.get('container', name, signal);
    if (!isAt(target, metadata.location, await clusterMembers(client))) throw error;
  }
}

export const restartRefused = (name: string, what: string): DiagnosticError =>
  new DiagnosticError([
    failure(
      `The container ${name} was not ${what}`,
      `A running container cannot be ${what}, and allow_restart is false. Set it to true, or stop the container first.`,
      at('allow_restart'),
    ),
  ]);
