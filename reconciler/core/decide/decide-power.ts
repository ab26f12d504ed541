// Decides whether a container starts, stops or restarts with its update, and whether its policy allows that.
import type { Container } from '../../../server/api/container/container.ts';
import type { Effect } from '../../../server/api/schema/field.ts';
import { statusCodes } from '../../../server/api/status.ts';
import type { Change } from '../documents/change.ts';
import type { PlanContext } from './plan-context.ts';
import type { Document, JsonObject } from '../documents/document.ts';
import { applyEdits } from '../plan/apply-edits.ts';
import { effectBetween, expandContainer } from '../live/expand-profiles.ts';
import type { Guard, PowerAction } from '../plan/plan.ts';
import { restart, start, stop, waits, type Sketch } from '../plan/step-drafts.ts';
import { asText } from '../documents/json-values.ts';
import type { Placement } from '../live/placement.ts';
import { isRunning } from '../live/usage.ts';

export interface PowerDecision {
  readonly action?: PowerAction;
  readonly effect: Effect;
  readonly isRunning: boolean;
  readonly reasons: readonly string[];
  readonly sketches: readonly Sketch[];
  readonly guard?: Guard;
}

const unchanged: PowerDecision = { effect: 'live', isRunning: false, reasons: [], sketches: [] };
const unchangedRunning: PowerDecision = { ...unchanged, isRunning: true };

export function decidePower(
  document: Document,
  live: JsonObject,
  changes: readonly Change[],
  context: PlanContext,
  { move, evacuated }: Placement,
): PowerDecision {
  if (document.kind !== 'container') return unchanged;
  const running = isRunning(live as unknown as Container);
  const wanted = document.manage.power === 'ignore' ? undefined : (document.state ?? 'running');
  if (!running && evacuated !== undefined)
    return { ...unchanged, reasons: [`it is not started while the member ${evacuated} is evacuated`] };
  if (!running) return wanted === 'running' ? starting(document) : unchanged;
  if (wanted === 'stopped') return stopping(document, live);
  const profiles = context.changedProfilesOf(live);
  const owed =
    wanted === 'running' && context.owesRestart(document.name) ? ['an unfinished change of an earlier run'] : [];
  const isStill = changes.length === 0 && profiles.length === 0;
  const effect = move !== undefined ? 'restart' : isStill ? 'live' : effectOfAll(live, changes, context);
  if (effect === 'live' && owed.length === 0 && wanted === 'running' && isFrozen(live)) return thawing(document);
  if (effect === 'live' && owed.length === 0)
    return wanted === 'running' ? awaited(document, context) : unchangedRunning;
  if (effect === 'live') return restarting(document, context, owed);
  const causes = [
    ...owed,
    ...changes.filter((change) => change.effect === 'restart' && change !== move).map((change) => change.path),
    ...profiles.map((name) => `profile/${name}`),
  ];
  if (move !== undefined) return restarting(document, context, ['target'], whyMove(move));
  return restarting(document, context, causes.length > 0 ? causes : changes.map((change) => change.path));
}

/** Waits for a running container that no run has recorded as ready yet. */
const awaited = (document: Document, context: PlanContext): PowerDecision =>
  document.manage.wait.length === 0 || !context.isUnready(document.name)
    ? unchangedRunning
    : {
        ...unchangedRunning,
        reasons: ['an earlier run ended before the container was ready'],
        sketches: waits(document),
      };

/** The effect of the container's own edits, with its current profiles. */
export function effectOfOwnChanges(live: JsonObject, changes: readonly Change[], context: PlanContext): Effect {
  const after = applyEdits(live, changes);
  return effectBetween(expandContainer(live, context.profileNow), expandContainer(after, context.profileNow));
}

/** Own and profile edits together: a key that one removes and the other sets has no effect. */
function effectOfAll(live: JsonObject, changes: readonly Change[], context: PlanContext): Effect {
  const after = applyEdits(live, changes);
  const effect = effectBetween(expandContainer(live, context.profileNow), expandContainer(after, context.profileAfter));
  // The profile refuses an edit that needs recreation.
  return effect === 'recreate' ? 'restart' : effect;
}

const starting = (document: Document): PowerDecision => ({
  action: 'start',
  effect: 'live',
  isRunning: false,
  reasons: ['it is stopped and should run'],
  sketches: [start, ...waits(document)],
});

const isFrozen = (live: JsonObject): boolean => live['status_code'] === statusCodes.frozen;

/** A start of a frozen container thaws it. */
const thawing = (document: Document): PowerDecision => ({
  action: 'start',
  effect: 'live',
  isRunning: true,
  reasons: ['it is frozen and should run: it is thawed'],
  sketches: [start, ...waits(document)],
});

function stopping(document: Document, live: JsonObject): PowerDecision {
  const decision: PowerDecision = {
    action: 'stop',
    effect: 'live',
    isRunning: true,
    reasons: ['it runs and should be stopped'],
    sketches: [stop],
  };
  if (live['ephemeral'] !== true) return decision;
  const guard: Guard = {
    code: 'disruption',
    address: document.address,
    message: `stopping ${document.address} would delete it: it is ephemeral`,
    remedy: 'set state: running, set ephemeral: false in a separate apply, or destroy it',
  };
  return { ...decision, guard };
}

const whyMove = ({ before, after }: Change): string =>
  `it stops, moves from ${asText(before)} to ${asText(after)}, and starts there`;

function restarting(
  document: Document,
  context: PlanContext,
  causes: readonly string[],
  why = `${causes.join(', ')} ${causes.length === 1 ? 'takes' : 'take'} effect at a start`,
): PowerDecision {
  const reasons = [why];
  if (document.manage.power === 'ignore') return { effect: 'live', isRunning: true, reasons, sketches: [] };
  const decision: PowerDecision = {
    action: 'restart',
    effect: 'restart',
    isRunning: true,
    reasons,
    sketches: [restart, ...waits(document)],
  };
  if (document.manage.disruption !== 'none' || context.options.allowRestart === true) return decision;
  const guard: Guard = {
    code: 'disruption',
    address: document.address,
    message: `${document.address} would have to restart: ${causes.join(', ')}`,
    remedy: 'set manage.disruption: restart, run with --allow-restart, or revert the change',
  };
  return { ...decision, guard };
}
