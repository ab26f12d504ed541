// Restores lost records: finds the pools, decides by their copies, and writes records. Idempotent.
import type { ServiceParts } from '../shared/service-parts.ts';
import { readdir } from 'node:fs/promises';
import type { Recovery as RecoveryReport, RecoveryPost } from '../../api/server/recovery.ts';
import { errors, checkName } from '../../api/errors.ts';
import { poolName } from '../../api/names.ts';
import { containerUrl } from '../../api/project/project-names.ts';
import { RecordConflict, type Changes } from '../../records/records.ts';
import { errorText } from '../../lib/shared/reason.ts';
import type { Caller } from '../shared/caller.ts';
import type { CopiedRecord } from './copied-records.ts';
import { contentOf, findPools, type FindPoolsDeps, type FoundPool } from './find-pools.ts';
import { planRecovery, type Here, type RecoveryPlan } from './plan-recovery.ts';

export interface RecoveryDeps extends FindPoolsDeps, Pick<ServiceParts, 'locks' | 'events'> {
  readonly imagesDir: string;
  readonly backupsDir: string;
  /** Brings networks, limits and running containers in line with the restored records. */
  readonly takeUp: (containers: readonly string[]) => Promise<void>;
}

/** Records per transaction. */
const chunk = 50;

export class Recovery {
  readonly #deps: RecoveryDeps;

  constructor(deps: RecoveryDeps) {
    this.#deps = deps;
  }

  recover(caller: Caller, { pools = [], apply = false }: RecoveryPost): Promise<RecoveryReport> {
    for (const { name } of pools) this.#refuse(name);
    const asked = pools.map(({ name, driver, config = {} }) => ({ name, driver, config: { ...config } }));
    return this.#deps.locks.run('recovery', async () => {
      const problems: string[] = [];
      const say = (problem: string): void => void problems.push(problem);
      const found = await findPools(this.#deps, asked, say);
      const contents = await Promise.all([...found.values()].map((pool) => contentOf(pool, say)));
      const plan = planRecovery(contents, await this.#here());
      const puts = plan.puts.map((record) => this.#adapted(record, found));
      const recovered = apply ? await this.#put(puts, say) : puts;
      if (apply && recovered.length > 0) await this.#takeUp(caller, recovered);
      return reportOf(plan, recovered, problems, apply);
    });
  }

  #refuse(name: string): void {
    checkName('storage pool', name, poolName);
    if (this.#deps.records.pools.has(name)) throw errors.exists('storage pool', name);
  }

  async #here(): Promise<Here> {
    const { records, imagesDir, backupsDir } = this.#deps;
    const [images, backups] = await Promise.all([imagesDir, backupsDir].map((dir) => readdir(dir).catch(() => [])));
    return {
      get: (kind, name) => records[kind].get(name)?.document as never,
      nameOf: (kind, uuid) => records[kind].list().find(({ document }) => document.uuid === uuid)?.name,
      images: new Set(images),
      backups: new Set(backups),
    };
  }

  /** A pool gets the place where it was found; existing settings stay. */
  #adapted(record: CopiedRecord, found: ReadonlyMap<string, FoundPool>): CopiedRecord {
    if (record.kind === 'server') {
      const here = this.#deps.records.server.get(record.name)?.document;
      const config = { ...record.document.config, ...here?.config };
      return { ...record, document: { ...record.document, ...here, config } };
    }
    const spec = record.kind === 'pools' ? found.get(record.name)?.spec : undefined;
    if (record.kind !== 'pools' || spec === undefined) return record;
    const config = { ...record.document.config, ...spec.config };
    return { ...record, document: { ...record.document, config } };
  }

  /** Returns the records written. If a transaction is refused, its records are tried one by one, so that one does not block the rest. */
  async #put(puts: readonly CopiedRecord[], say: (problem: string) => void): Promise<readonly CopiedRecord[]> {
    const written: CopiedRecord[] = [];
    for (let at = 0; at < puts.length; at += chunk) {
      const some = puts.slice(at, at + chunk);
      if (await this.#commit(some, undefined)) written.push(...some);
      else for (const one of some) if (await this.#commit([one], say)) written.push(one);
    }
    return written;
  }

  async #commit(some: readonly CopiedRecord[], say: ((problem: string) => void) | undefined): Promise<boolean> {
    const { records } = this.#deps;
    try {
      await records.retry((changes: Changes) => {
        for (const { kind, name, document } of some) {
          if (kind !== 'server' && kind !== 'profiles' && records[kind].has(name))
            throw new RecordConflict(`${kind} ${name} is there now`);
          changes.put(kind, name, document);
        }
      }, 1);
      return true;
    } catch (error) {
      say?.(some.map(({ kind, name }) => `${kind} ${name} cannot be recovered: ${errorText(error)}`).join('; '));
      return false;
    }
  }

  async #takeUp(caller: Caller, recovered: readonly CopiedRecord[]): Promise<void> {
    const names = recovered.flatMap(({ kind, name }) => (kind === 'containers' ? [name] : []));
    await this.#deps.takeUp(names);
    for (const name of names) this.#deps.events.lifecycle('container-created', containerUrl(name), caller);
  }
}

function reportOf(
  plan: RecoveryPlan,
  recovered: readonly CopiedRecord[],
  problems: readonly string[],
  applied: boolean,
): RecoveryReport {
  return {
    applied,
    recovered: recovered.map(({ kind, name }) => ({ kind, name })),
    kept: [...plan.kept],
    unknown: plan.unknown.map(({ pool, type, name, snapshots, isKnown }) => ({
      pool,
      type,
      name,
      snapshots: [...snapshots],
      is_known: isKnown,
    })),
    problems: [...problems],
  };
}
