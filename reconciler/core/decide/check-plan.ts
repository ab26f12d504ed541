// Checks a plan independently of the code that made it: order, needs, use, protection. Tests, the CLI and apply run it.
import type { Problem } from '../../../server/api/problem.ts';
import { addressOf, defaultManage, type Address, type Document } from '../documents/document.ts';
import { isProtected } from './decision.ts';
import { asideFor } from '../live/image-updates.ts';
import { coreKind } from '../kinds/index.ts';
import type { Observed } from '../documents/observed.ts';
import type { CreateStep, Plan, RebuildStep, Step } from '../plan/plan.ts';
import { projectWorld } from '../live/world-after-steps.ts';
import { onMember } from '../live/volumes-of-one-name.ts';
import { projectOfLive, referencesIn, scopesOf, type Scopes } from '../live/project-scope.ts';
import { findUsage, type Usage } from '../live/usage.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

/** Empty for a sound plan. Paths are step ids or addresses. */
export function checkPlan(plan: Plan, observed: Observed): readonly Problem[] {
  const checker = new PlanChecker(plan, observed);
  return [...checker.steps(), ...checker.changes()];
}

class PlanChecker {
  readonly #plan: Plan;
  readonly #observed: Observed;
  readonly #index = new Map<string, number>();
  readonly #deletes = new Map<string, Step>();
  readonly #creates = new Map<string, Step>();
  readonly #problems: Problem[] = [];
  readonly #firstOf = new Map<Address, Step>();
  readonly #scopes: Scopes;
  #usage: Usage | undefined;
  #usageAfter: Usage | undefined;

  constructor(plan: Plan, observed: Observed) {
    this.#plan = plan;
    this.#observed = observed;
    this.#scopes = scopesOf(observed, plan.steps.map(documentOf));
    for (const [position, step] of plan.steps.entries()) {
      if (this.#index.has(step.id)) this.#report(step.id, 'two steps have this id');
      this.#index.set(step.id, position);
      if (!this.#firstOf.has(step.address)) this.#firstOf.set(step.address, step);
      const key = `${step.kind}/${step.name}`;
      if (step.action === 'delete') this.#deletes.set(key, step);
      if (step.action === 'create') this.#creates.set(key, step);
    }
  }

  steps(): readonly Problem[] {
    for (const [position, step] of this.#plan.steps.entries()) {
      this.#checkNeeds(step, position);
      if (step.action === 'create') this.#checkCreate(step);
      else if (step.action === 'rebuild') this.#checkRebuild(step);
      else this.#checkExists(step);
      if (step.action === 'delete') this.#checkDelete(step);
    }
    return this.#problems.splice(0);
  }

  changes(): readonly Problem[] {
    const owned = new Set<string>();
    for (const change of this.#plan.changes) {
      if (change.guard !== undefined && change.isSplit !== true && change.steps.length > 0)
        this.#report(change.address, 'is guarded and has steps');
      for (const id of change.steps) {
        owned.add(id);
        const step = this.#plan.steps[this.#index.get(id) ?? -1];
        if (step === undefined) this.#report(change.address, `names the step ${id}, which the plan lacks`);
        else if (step.address !== change.address)
          this.#report(change.address, `names the step ${id} of another object`);
        if (step?.action === 'delete' && change.isProtected) this.#report(id, 'deletes a protected object');
      }
    }
    for (const step of this.#plan.steps) if (!owned.has(step.id)) this.#report(step.id, 'belongs to no change');
    return this.#problems.splice(0);
  }

  #report(path: string, message: string): void {
    this.#problems.push({ path, message });
  }

  #checkNeeds(step: Step, position: number): void {
    for (const need of step.needs) {
      const at = this.#index.get(need);
      if (at === undefined) this.#report(step.id, `needs ${need}, which the plan lacks`);
      else if (at >= position) this.#report(step.id, `comes before ${need}, which it needs`);
    }
  }

  #liveOf(step: Step): { readonly object: object } | undefined {
    const live = coreKind(step.kind).live(this.#observed, step.name);
    const target = 'target' in step ? step.target : undefined;
    return step.kind === 'storage_volume' ? onMember(live, target) : live;
  }

  #checkCreate(step: CreateStep): void {
    const gone = this.#deletes.get(`${step.kind}/${step.name}`);
    if (this.#liveOf(step) !== undefined && (gone === undefined || !this.#isAfter(step, gone))) {
      this.#report(step.id, 'creates an object that exists already');
    }
    for (const { kind, name, severity } of referencesIn(documentOf(step), this.#scopes)) {
      const made = this.#creates.get(`${kind}/${name}`);
      const isThere = coreKind(kind).live(this.#observed, name) !== undefined;
      if (made !== undefined && !this.#isAfter(step, made))
        this.#report(step.id, `may run before ${made.id}, which it needs`);
      if (made === undefined && !isThere && severity === 'error' && kind !== 'image' && kind !== 'network') {
        this.#report(step.id, `needs ${kind}/${name}, which neither exists nor is created`);
      }
    }
  }

  /** The old container exists under its own name, or under another one since an interrupted run. */
  #checkRebuild(step: RebuildStep): void {
    const live = this.#liveOf(step) ?? asideFor(step, this.#observed);
    if (live === undefined) this.#report(step.id, 'works on an object that does not exist');
    else if ('object' in live && isProtected(documentOf(step), live))
      this.#report(step.id, 'deletes a protected object');
  }

  #checkExists(step: Step): void {
    const made = this.#creates.get(`${step.kind}/${step.name}`);
    const isMade = made !== undefined && this.#isAfter(step, made);
    if (!isMade && this.#liveOf(step) === undefined) this.#report(step.id, 'works on an object that does not exist');
  }

  #checkDelete(step: Step): void {
    const live = this.#liveOf(step);
    if (live !== undefined && isProtected(documentOf(step), live)) this.#report(step.id, 'deletes a protected object');
    if (coreKind(step.kind).isPermanent?.(step.name) === true)
      this.#report(step.id, 'deletes an object that cannot be deleted');
    this.#usage ??= findUsage(this.#observed);
    this.#usageAfter ??= findUsage(projectWorld(this.#observed, this.#plan.steps));
    const address: Address = `${step.kind}/${step.name}`;
    for (const user of this.#usage.get(address) ?? []) {
      const isLeft = this.#usageAfter.get(address)?.includes(user) === true;
      const gone = this.#deletes.get(user);
      if (isLeft) this.#report(step.id, `deletes an object that ${user} still uses`);
      for (const releasing of gone === undefined ? this.#releasing(user, address) : [gone]) {
        if (!this.#isAfter(step, releasing))
          this.#report(step.id, `may run before ${releasing.id}, which stops using it`);
      }
    }
  }

  /** Updates that end a use: of the user itself, or of its profiles. */
  #releasing(user: string, used: Address): readonly Step[] {
    const container = user.startsWith('container/') ? user.slice('container/'.length) : undefined;
    const live = container === undefined ? undefined : this.#observed.containers.get(container)?.object;
    const profiles = live?.profiles ?? [];
    const projectOfUser = live === undefined ? undefined : projectOfLive(this.#observed, live);
    const through = profiles
      .map((name) => addressOf('profile', this.#scopes.keyOf('profile', name, projectOfUser)))
      .filter((address) => this.#usage?.get(used)?.includes(address) === true);
    return [user as Address, ...through].flatMap((address) => this.#firstOf.get(address) ?? []);
  }

  /** True when `step` can only run after `earlier` succeeded. */
  #isAfter(step: Step, earlier: Step): boolean {
    const seen = new Set<string>(step.needs);
    for (const id of seen) {
      if (id === earlier.id) return true;
      for (const need of this.#plan.steps[this.#index.get(id) ?? -1]?.needs ?? []) seen.add(need);
    }
    return false;
  }
}

const nowhere = { file: '', line: 0, column: 0 };

/** The object of a step as a document, the form that the kinds read. */
const documentOf = (step: Step): Document => ({
  kind: step.kind,
  name: step.name,
  address: step.address,
  ...withoutUndefined({ project: step.project }),
  location: nowhere,
  values: step.action === 'create' || step.action === 'rebuild' ? step.body : {},
  manage: defaultManage,
});
