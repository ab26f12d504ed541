// Compares a host with its target: the whole plan, the drift, and the plan without what drift settings, suspensions and pauses hold back.
import { ownedOf } from '../../../core/adoption/adopt.ts';
import { findDrift } from '../../../core/drift/drift.ts';
import type { Guard } from '../../../core/plan/plan.ts';
import type { Observed } from '../../../core/documents/observed.ts';
import type { MadePlan } from '../../../engine/runs/make-plan.ts';
import type { ApprovalLevel } from '../../config/config.ts';
import { stepsToApprove, type AskedStep } from '../../decide/approval.ts';
import { joinedRestraint, judgeDrift, suspendedOn, type DriftJudgement } from '../../decide/judge-drift.ts';
import { isForOther, isForWindow, isGate, refusalText, type Restraint } from '../../decide/restrain.ts';
import { opensInMs } from '../../decide/windows.ts';
import type { Suspension } from '../../contract/index.ts';
import { driftOfSuspended, isNothing, withSuspended } from '../../decide/suspended-drift.ts';
import { ofHost } from '../../decide/suspensions.ts';
import type { HostTarget, SetOnHostDeps } from './host-target.ts';
import { planTarget } from './plan-target.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

export interface ComparisonInput {
  readonly target: HostTarget;
  readonly observed: Observed;
  /** The name of the set in the notes on the host. */
  readonly set: string;
  /** The host does not have the documents of the target yet. */
  readonly isNew: boolean;
  readonly asked: readonly Suspension[];
  readonly wasDrift: (address: string, path: string) => boolean;
  /** A person allowed this revision to delete more than the limit. */
  readonly isPruneApproved: boolean;
}

type Objects = Restraint['objects'];

/** Records are only looked up. */
const unhashed = (text: string): string => text;

export class Comparison {
  readonly target: HostTarget;
  readonly isNew: boolean;
  /** The suspensions at the time of the comparison. */
  readonly asked: readonly Suspension[];
  /** All differences, without what is suspended. */
  readonly whole: MadePlan;
  readonly judged: DriftJudgement;
  /** Suspended objects, with the reason. */
  readonly suspended: Objects;
  /** Paths of suspended objects and fields that drifted, by address; nothing heals them. */
  readonly suspendedDrift: ReadonlyMap<string, readonly string[]>;
  /** How long disruptive changes must wait; 0 when they need not wait. */
  readonly calmMs: number;
  readonly #set: string;
  readonly #plan: (...parts: readonly Partial<Restraint>[]) => MadePlan;

  constructor(
    { config, link, rules, place, nowMs }: Pick<SetOnHostDeps, 'config' | 'link' | 'rules' | 'place' | 'nowMs'>,
    { target, observed, set, isNew, asked, wasDrift, isPruneApproved }: ComparisonInput,
  ) {
    this.target = target;
    this.#set = config.name;
    this.isNew = isNew;
    this.asked = asked;
    const { documents } = target.loaded.loaded;
    const addresses = documents.map(({ address }) => address);
    // A suspended object of the set is not deleted, also when no document declares it any more.
    const owned = asked.some(({ address }) => address !== undefined) ? ownedOf(observed, { set, hash: unhashed }) : [];
    const suspended = suspendedOn(asked, link.host.name, [...addresses, ...owned.map(({ address }) => address)]);
    this.suspended = suspended.objects;
    this.calmMs = opensInMs(config.disruptive, nowMs());
    const basis: Partial<Restraint> = {
      isCalm: this.calmMs > 0,
      skipsWaits: !config.health.wait,
      ...withoutUndefined({ waitMs: config.health.timeoutMs }),
    };
    // A set that asks for approvals asks for one for each deletion anyway.
    const options =
      isPruneApproved || config.approval !== undefined ? { ...config.plan, pruneLimit: { percent: 100 } } : config.plan;
    const planWith = (...parts: readonly Partial<Restraint>[]): MadePlan => {
      const restraint = joinedRestraint(basis, ...parts);
      const { loaded } = target;
      return planTarget(observed, { loaded, set, options, restraint, place });
    };
    this.#plan = (...parts) => planWith(suspended, ...parts);
    const judge = (made: MadePlan): DriftJudgement =>
      judgeDrift({ report: findDrift({ ...made, ignore: [] }), rules, host: link.host, isNew, wasDrift });
    this.whole = this.#plan();
    const judged = judge(this.whole);
    this.suspendedDrift = isNothing(suspended) ? new Map() : driftOfSuspended(() => judge(planWith()), suspended);
    const isWhole = config.suspended !== undefined || ofHost(asked, link.host.name) !== undefined;
    this.judged = { ...judged, drift: withSuspended(judged.drift, this.suspendedDrift, isWhole) };
  }

  /** The plan that may be carried out. `resting`: objects that are left alone for now. */
  allowed(resting: Objects): MadePlan {
    const { held } = this.judged;
    return isNothing(held) && resting.size === 0 ? this.whole : this.#plan(held, { objects: resting });
  }

  /** The steps that somebody must approve, including those that wait for the window of disruptive changes. */
  toApprove(made: MadePlan, level: ApprovalLevel, resting: Objects): readonly AskedStep[] {
    const whole = this.calmMs > 0 ? this.#plan(this.judged.held, { objects: resting }, { isCalm: false }) : made;
    return stepsToApprove(whole.plan, level, this.target.loaded.asWritten, this.isNew);
  }

  /** Why guards refuse parts of a plan; what only waits for another object comes last. */
  refusals({ plan }: MadePlan): readonly string[] {
    const waiting = plan.guards.filter(isForOther);
    const others = plan.guards.filter((guard) => !isForOther(guard));
    return [...others, ...waiting].map((guard) => refusalText(guard, this.calmMs > 0, this.#set));
  }

  /** Each refused part waits: for another object, a person, or the window of disruptive changes. */
  waitsForOther({ plan }: MadePlan): boolean {
    const isCalm = this.calmMs > 0;
    const waits = (guard: Guard): boolean =>
      isForOther(guard) || isGate(guard, isCalm) || (isCalm && isForWindow(guard));
    return plan.guards.length > 0 && plan.guards.every(waits);
  }

  /** Each refused part waits for the window of disruptive changes. */
  waitsForWindow({ plan }: MadePlan): boolean {
    return this.calmMs > 0 && plan.guards.every(isForWindow);
  }
}
