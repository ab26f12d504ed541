// Maintains the files of the cluster's etcds: returns unused space, one etcd at a time, and clears the alarm of a full one once it has
// room.
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
/** One step to defragment each etcd, and one to clear the alarm. */
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

  /** One sentence per warning for the operator; empty if all is well. */
  get warnings(): readonly string[] {
    return this.#warnings;
  }

  /** Never throws: the next run may succeed. Runs are serial. */
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
        // Kept history holds deleted data: a full etcd needs that space, and refuses the writes by which history would age.
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
          log.info(`etcd at ${care.address} returns unused space of its file`);
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

  /** Logs a warning when it appears, not at every run. */
  #warn(warnings: readonly string[]): void {
    for (const warning of warnings) if (!this.#warnings.includes(warning)) this.#options.log.error(warning);
    this.#warnings = warnings;
  }
}
