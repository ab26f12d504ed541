// Moves a lost member's objects on shared storage to other members. One member acts: the present one with the lowest number.
import type { ServiceParts } from '../../shared/service-parts.ts';
import { isTrue } from '../../../api/text/value-checks.ts';
import type { Member } from '../../../membership/members.ts';
import { decodeFence, fenceKey, fencePrefix } from '../../../membership/signals.ts';
import { errorText } from '../../../lib/shared/reason.ts';
import type { ContainerDocument } from '../../../records/documents.ts';
import type { OtherEntry } from '../../../records/other-members.ts';
import type { Records } from '../../../records/records.ts';
import { isOwnedBy, volumeIdOf } from '../../../records/record-names.ts';
import type { Rev } from '../../../store/store.ts';
import { daemonCaller } from '../../shared/caller.ts';
import { evacuateKeys } from '../../containers/shared/evacuate-keys.ts';
import { expand } from '../../shared/expand.ts';
import { profilesOf } from '../../shared/project-scope.ts';
import { settingOf } from '../../shared/settings.ts';
import { usesOf } from '../../shared/used-by.ts';
import { type HealingPlan, healingWaitMs, planHealing, type Unit } from './plan.ts';
import { isGone, takeOver, type TakeOver } from './take-over.ts';
import { targetOf } from './unit-target.ts';

export interface HealingDeps extends Pick<ServiceParts, 'records' | 'cluster' | 'operations' | 'events' | 'log'> {
  /** A monotonic clock. */
  readonly nowMs: () => number;
}

/** Config key of a container: the lost member that had it. Its start removes the key. */
export const lostMemberKey = 'volatile.cluster.lost_member';

interface Absence {
  readonly fenceRev: Rev;
  readonly sinceMs: number;
  /** The earliest time of the next attempt. */
  notBeforeMs: number;
  isLogged: boolean;
}

/** The pause after an attempt that left something, and while nothing remains to do. */
const againMs = 10_000;

export class Healing {
  readonly #deps: HealingDeps;
  readonly #absences = new Map<number, Absence>();
  #healing: Promise<void> | undefined;
  /** Set when members, their leases or their fences changed: absent members are then checked again. */
  #isChanged = true;
  #generation = -1;

  constructor(deps: HealingDeps) {
    this.#deps = deps;
    const changed = (): void => {
      this.#isChanged = true;
    };
    deps.cluster.members.onPresence(changed);
    deps.records.contents.onSignal((key) => key.startsWith(fencePrefix) && changed());
  }

  /** Call each second while the threshold is set. Never throws. */
  async tick(): Promise<void> {
    const { cluster, records, log } = this.#deps;
    const threshold = cluster.isOn ? Number(settingOf(records, 'cluster.healing_threshold')) : 0;
    this.#lookAtAll();
    if (threshold === 0 || this.#absences.size === 0 || this.#healing !== undefined || !this.#isMine()) return;
    const due = cluster.members.list().find((member) => this.#isDue(member, threshold));
    if (due === undefined) return;
    this.#healing = this.#heal(due)
      .catch((error: unknown) => log.error(`Healing the lost member ${due.name} failed: ${errorText(error)}`))
      .finally(() => {
        this.#healing = undefined;
      });
    await this.#healing;
  }

  #lookAtAll(): void {
    const { cluster, records } = this.#deps;
    if (!this.#isChanged && this.#generation === records.members.generation) return;
    this.#isChanged = false;
    this.#generation = records.members.generation;
    const all = cluster.members.list();
    const known = new Set(all.map(({ number }) => number));
    for (const number of this.#absences.keys()) if (!known.has(number)) this.#absences.delete(number);
    for (const { number, isPresent } of all) this.#look(number, isPresent);
  }

  /** The wait restarts whenever the member was back, however shortly. */
  #look(number: number, isPresent: boolean): void {
    const fenceRev = this.#fenceOf(number)?.modRev ?? 0;
    const known = this.#absences.get(number);
    if (isPresent) this.#absences.delete(number);
    else if (known?.fenceRev !== fenceRev) {
      const sinceMs = this.#deps.nowMs();
      this.#absences.set(number, { fenceRev, sinceMs, notBeforeMs: sinceMs, isLogged: false });
    }
  }

  #isMine(): boolean {
    const { cluster, nowMs } = this.#deps;
    const present = cluster.members.list().filter(({ isPresent }) => isPresent);
    return cluster.heldUntilMs > nowMs() && Math.min(...present.map(({ number }) => number)) === cluster.members.here;
  }

  #isDue(member: Member, threshold: number): boolean {
    const { log, nowMs } = this.#deps;
    const absence = this.#absences.get(member.number);
    if (absence === undefined || nowMs() < absence.notBeforeMs) return false;
    const ttlSeconds = this.#fenceOf(member.number)?.ttlSeconds;
    if (nowMs() - absence.sinceMs < healingWaitMs(threshold, ttlSeconds ?? 0)) return false;
    if (ttlSeconds !== undefined) return true;
    if (!absence.isLogged)
      log.warn(
        `The containers of the lost member ${member.name} stay with it: it never published that it ends them when it is cut off`,
      );
    absence.isLogged = true;
    return false;
  }

  #fenceOf(number: number): { readonly ttlSeconds: number; readonly modRev: Rev } | undefined {
    const key = fenceKey(number);
    const found = this.#deps.records.contents.signal(key);
    const fence = found && decodeFence(found.value);
    return found && fence && { ...fence, modRev: found.modRev };
  }

  async #heal(member: Member): Promise<void> {
    const { log, operations } = this.#deps;
    const absence = this.#absences.get(member.number);
    if (absence === undefined) return;
    absence.notBeforeMs = this.#deps.nowMs() + againMs;
    const plan = this.#planOf(member);
    if (!absence.isLogged)
      for (const { name, reason } of plan.left)
        log.warn(`The container ${name} waits for the lost member ${member.name}: it ${reason}`);
    absence.isLogged = true;
    if (plan.units.length === 0) return;
    const operation = operations.start({
      description: 'Healing cluster member',
      resources: { cluster: [] },
      run: () => this.#move(member, absence.fenceRev, plan),
    });
    await operations.wait(operation.id, undefined);
  }

  async #move(member: Member, fenceRev: Rev, plan: HealingPlan): Promise<void> {
    const { events, log } = this.#deps;
    const coming = new Map<number, number>();
    const moved: string[] = [];
    for (const unit of plan.units) {
      try {
        const target = targetOf(this.#deps, unit, member.number, coming);
        if (!(await this.#give(unit, member, target, fenceRev))) {
          log.info(`The member ${member.name} is back, or its records were changed: healing it stops`);
          break;
        }
        coming.set(target.number, (coming.get(target.number) ?? 0) + unit.containers.length);
        moved.push(...unit.containers);
        log.warn(`The member ${member.name} is lost: ${target.name} has its ${namesOf(unit)} now`);
      } catch (error) {
        log.error(
          `The ${namesOf(unit)} of the lost member ${member.name} cannot continue elsewhere: ${errorText(error)}`,
        );
      }
    }
    const url = `/1.0/cluster/members/${member.name}`;
    if (moved.length > 0) events.lifecycle('cluster-member-healed', url, daemonCaller, { containers: moved });
  }

  #planOf({ number, name: lost, document: { evacuated = false } }: Member): HealingPlan {
    const { records } = this.#deps;
    const sharedPools = new Set(
      records.poolDefinitions
        .list()
        .filter(({ document }) => document.state === 'created' && isTrue(document.config['source.shared']))
        .map(({ name }) => name),
    );
    const changing = new Set<string>();
    for (const { document } of records.others.of('sagas', number))
      for (const { kind, name } of document.holds ?? []) if (kind === 'containers') changing.add(name);
    const containers = [...records.others.of('containers', number)].map(({ name, document }) => ({
      name,
      isReady: document.lifecycle === 'ready',
      isWaiting: evacuated && document.config[evacuateKeys.origin] === lost,
      pool: document.pool,
      volumes: volumesOf(records, name, document),
      ...expand(document, profilesOf(records, name)),
    }));
    const volumes = [...records.others.of('volumes', number)]
      .filter(({ name, document }) => document.lifecycle === 'ready' && sharedPools.has(volumeIdOf(name).pool))
      .map(({ name }) => name);
    return planHealing({ containers, volumes, sharedPools, changing });
  }

  /** False: the lost member is back, or something has changed. */
  async #give(unit: Unit, from: Member, to: Member, fenceRev: Rev): Promise<boolean> {
    const { records } = this.#deps;
    const taken = [
      ...unit.volumes.flatMap((volume) => this.#volume(from.number, volume)),
      ...unit.containers.flatMap((container) => this.#container(from, container)),
    ];
    for (const { compares, ops } of takeOver(
      taken,
      { from: from.number, to: to.number },
      isGone(from.number, fenceRev),
    ))
      if (!(await records.writeKeys(compares, ops))) return false;
    return true;
  }

  #volume(member: number, key: string): readonly TakeOver[] {
    const { others } = this.#deps.records;
    const found = others.having('volumes', key).find((entry) => entry.member === member);
    if (found === undefined) return [];
    const { uuid } = found.document;
    const snapshots = [...others.of('volumeSnapshots', member)].filter(({ name }) => isOwnedBy(name, uuid));
    return [
      ...snapshots.map(({ name, document, modRev }) => ({ kind: 'volumeSnapshots' as const, name, document, modRev })),
      { kind: 'volumes', name: key, document: found.document, modRev: found.modRev },
    ];
  }

  /** The container last: once it is there, all of it is. */
  #container(member: Member, container: string): readonly TakeOver[] {
    const { others } = this.#deps.records;
    const found = others.having('containers', container).find((entry) => entry.member === member.number);
    if (found === undefined) return [];
    const { uuid } = found.document;
    const snapshots = [...others.of('snapshots', member.number)].filter(({ name }) => isOwnedBy(name, uuid));
    return [
      ...snapshots.map(({ name, document, modRev }) => ({ kind: 'snapshots' as const, name, document, modRev })),
      { kind: 'containers', name: container, document: ofLost(found, member.name), modRev: found.modRev },
    ];
  }
}

const ofLost = ({ document }: OtherEntry<ContainerDocument>, member: string): ContainerDocument => ({
  ...document,
  config: { ...document.config, [lostMemberKey]: member },
});

function volumesOf(records: Records, name: string, document: ContainerDocument): readonly string[] {
  const prefix = 'volume ';
  return [...usesOf(name, document, records)]
    .filter((use) => use.startsWith(prefix))
    .map((use) => use.slice(prefix.length));
}

function namesOf({ containers, volumes }: Unit): string {
  const shown = [...containers.map((name) => `container ${name}`), ...volumes.map((name) => `volume ${name}`)];
  return shown.join(', ');
}
