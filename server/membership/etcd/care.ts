// Looks after the file of the cluster's etcds: unused space is given back one etcd at a time, and a full one continues once it has room.
import type { Log } from '../../lib/log.ts';
import { errorText } from '../../lib/shared/reason.ts';
import { type EtcdFacts, nextCare, warningsOf } from './care-plan.ts';
import type { EtcdMembership } from './membership.ts';

export interface EtcdCareOptions {
  readonly membership: EtcdMembership;
  readonly quotaBytes: number;
  readonly log: Log;
  readonly everyMs?: number;
}

const defaultEveryMs = 60_000;
/** Defragmenting every etcd, and the end of an alarm, need one step each. */
const stepsPerRun = 8;

/** One member of the cluster runs it at a time; two at once do no harm. */
export class EtcdCare {
  readonly #options: EtcdCareOptions;
  readonly #timer: NodeJS.Timeout;
  #warnings: readonly string[] = [];
  /** The revision of each etcd, by its address, when its file was rewritten. */
  readonly #defragmentedAt = new Map<string, number>();
  #running: Promise<void> = Promise.resolve();
  #isStopped = false;

  constructor(options: EtcdCareOptions) {
    this.#options = options;
    this.#timer = setInterval(() => void this.run(), options.everyMs ?? defaultEveryMs);
    this.#timer.unref();
  }

  /** What an operator has to know, one sentence each; empty when all is well. */
  get warnings(): readonly string[] {
    return this.#warnings;
  }

  /** Never throws: the next run may succeed. Runs follow each other. */
  run(): Promise<void> {
    this.#running = this.#running.then(() => this.#run());
    return this.#running;
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#isStopped = true;
    await this.#running;
  }

  async #run(): Promise<void> {
    const { membership, quotaBytes, log } = this.#options;
    try {
      for (let step = 0; step < stepsPerRun && !this.#isStopped; step += 1) {
        const facts = await this.#look();
        this.#warn(warningsOf(facts, quotaBytes));
        // History that is kept for readers holds what was deleted: a full etcd needs its place, and takes no more writes that age it.
        if (step === 0 && facts.alarms.some(({ alarm }) => alarm === 'NOSPACE')) {
          await membership.compactAll();
          continue;
        }
        const care = nextCare(facts, quotaBytes);
        if (care === undefined) return;
        if (care.do === 'disarm') {
          await membership.disarmNoSpace(care.memberId);
          log.info('etcd has room again: the alarm NOSPACE is off, changes are taken again');
        } else {
          log.info(`etcd at ${care.address} gives unused space of its file back`);
          const revision = facts.etcds.find(({ address }) => address === care.address)?.status?.revision;
          await membership.defragment(care.address);
          this.#defragmentedAt.set(care.address, revision ?? 0);
        }
      }
    } catch (error) {
      if (!this.#isStopped) log.warn(`Looking after etcd failed: ${errorText(error)}`);
    }
  }

  async #look(): Promise<EtcdFacts> {
    const { membership } = this.#options;
    const [members, alarms] = await Promise.all([membership.list(), membership.alarms()]);
    const etcds = await Promise.all(
      members.map(async ({ id, name, clientAddresses: [address] }) => {
        const status = address === undefined ? undefined : await membership.statusOf(address).catch(() => undefined);
        return { id, name, address, status, defragmentedAt: this.#defragmentedAt.get(address ?? '') };
      }),
    );
    return { etcds, alarms };
  }

  /** A line when something is new, not one every time. */
  #warn(warnings: readonly string[]): void {
    for (const warning of warnings) if (!this.#warnings.includes(warning)) this.#options.log.error(warning);
    this.#warnings = warnings;
  }
}
