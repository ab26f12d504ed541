// Builds hosts, sources and sets from gantry.yaml and the hosts file and connects them: a source offers revisions to its sets,
// sets wait for sets, all stop while another controller is active.
import type { Host } from '../manifest/hosts-file.ts';
import type { ControllerConfig, SetConfig, SourceConfig } from './config/config.ts';
import { durationMs } from '../../server/api/text/durations.ts';
import { defaultIntervalMs } from './config/read-set.ts';
import { dependentsOf, whyHostWaits } from './decide/set-dependencies.ts';
import type { DigestSeal } from './decide/set-state.ts';
import { suspensionOfSet } from './decide/set-view.ts';
import type { Completed, GeneratedSets } from './generators/generated-sets.ts';
import type { GeneratorWork } from './generators/generator-work.ts';
import { claimantOf } from './hosts/host-claim.ts';
import { HostLink, type LinkDeps } from './hosts/host-link.ts';
import { TenantLinks } from './hosts/tenant-links.ts';
import type { Lease } from './hosts/lease.ts';
import type { HostStatus } from './contract/index.ts';
import type { Hub } from './hub.ts';
import type { Notifier } from './notify/notice.ts';
import { hostsOf, type Configuration } from './reload/changes.ts';
import { ImageUpdates } from './sets/image-updates.ts';
import { ManagedSet } from './sets/managed-set.ts';
import type { SetNotice } from './sets/set-notices.ts';
import { SourceWatch } from './sets/source-watch.ts';
import type { Asked } from './sets/asked.ts';
import { ConcurrencyLimit } from '../../server/lib/shared/concurrency-limit.ts';
import type { Source, SourceRevision } from './sources/source.ts';
import { withoutUndefined } from '../../server/lib/shared/without-undefined.ts';

export interface EngineDeps {
  readonly config: ControllerConfig;
  /** The id stored in the state directory. */
  readonly identity: string;
  readonly seal: DigestSeal;
  readonly hosts: readonly Host[];
  readonly open: (entry: SourceConfig) => Source;
  readonly hub: Hub;
  readonly generated: GeneratedSets;
  /** Absent: `config` has no generated sets. */
  readonly completed?: Completed;
  readonly notifier?: Notifier;
  readonly nowMs: () => number;
}

export interface OpenSource {
  readonly source: Source;
  readonly watch: SourceWatch;
}

/** The parts in use, for access to each other. */
export interface PartsInUse {
  readonly configured: Configuration;
  readonly links: ReadonlyMap<string, HostLink>;
  readonly sources: ReadonlyMap<string, OpenSource>;
  readonly sets: ReadonlyMap<string, ManagedSet>;
  readonly asked: Asked;
  readonly lease: Pick<Lease, 'hosts'>;
  /** This controller is active and has loaded the state of its predecessor. */
  readonly isInCharge: boolean;
  /** The present term as the active controller; fires when it is over. */
  readonly term: AbortSignal;
  readonly notifier: Notifier | undefined;
  readonly generators: Pick<GeneratorWork, 'look' | 'setChanged'>;
}

/** Max hosts that are observed and planned at once. */
const plansAtOnce = 6;
const directoryMs = 2000;
const remoteMs = 60_000;

export class Wiring {
  readonly #deps: EngineDeps;
  readonly #parts: PartsInUse;
  readonly #end: AbortSignal;
  readonly #plans = new ConcurrencyLimit(plansAtOnce);
  /** Connections with certificates of tenants. */
  readonly tenantLinks: TenantLinks;

  constructor(deps: EngineDeps, parts: PartsInUse, end: AbortSignal) {
    const { hub } = deps;
    this.#deps = deps;
    this.#parts = parts;
    this.#end = end;
    this.tenantLinks = new TenantLinks(({ name }) =>
      this.#linkDeps((status) => hub.log(...statusLine(`the connection of the tenant ${name}`, status))),
    );
  }

  link(host: Host): HostLink {
    const { hub } = this.#deps;
    return new HostLink(
      host,
      this.#linkDeps((status) => {
        hub.log(...statusLine('the host', status));
        hub.emit({ type: 'host', host: status });
      }),
    );
  }

  #linkDeps(onStatus: LinkDeps['onStatus']): LinkDeps {
    return {
      // Jitter spreads the comparisons of the hosts.
      intervalMs: () => Math.round(this.#intervalMs() * (0.85 + 0.3 * Math.random())),
      parallelism: this.#parts.configured.config.parallelism,
      onStatus,
    };
  }

  #intervalMs(): number {
    const { sets } = this.#parts.configured.config;
    return sets.length === 0 ? defaultIntervalMs : Math.min(...sets.map((set) => set.intervalMs));
  }

  watched(entry: SourceConfig, source: Source): OpenSource {
    const { hub, nowMs } = this.#deps;
    const watch = new SourceWatch({
      source,
      intervalMs: () => intervalOf(entry),
      onRevision: (found) => this.#offer(entry.name, found),
      onStatus: (status) => hub.emit({ type: 'source', source: status }),
      onError: (message) => hub.log('error', message, { source: entry.name }),
      nowMs,
    });
    return { source, watch };
  }

  async #offer(source: string, { revision, at, who, message }: SourceRevision): Promise<void> {
    const known = {
      revision,
      at,
      ...withoutUndefined({ who, message }),
    };
    await this.#parts.generators.look(source, revision);
    const sets = [...this.#parts.sets.values()].filter(({ config }) => config.source === source);
    await Promise.all(sets.map((set) => set.offer(known, this.#end)));
  }

  set(set: SetConfig): ManagedSet {
    const { hub, nowMs } = this.#deps;
    const parts = this.#parts;
    const { config } = parts.configured;
    const source = parts.sources.get(set.source)?.source;
    if (source === undefined) throw new Error(`the set ${set.name} has no source`);
    return new ManagedSet({
      config: set,
      source,
      links: this.linksOf(set),
      asked: parts.asked,
      hub,
      isActive: () => parts.isInCharge,
      term: () => parts.term,
      claimant: () => claimantOf(this.#deps.identity, config, parts.lease.hosts),
      waitsFor: (waiting, name, revision) => {
        const isNewest = revision === parts.sources.get(waiting.source)?.watch.status.revision;
        return whyHostWaits(waiting, { name, revision, isNewest }, parts.sets);
      },
      onChange: (changed) => {
        for (const dependent of dependentsOf(changed.config.name, parts.sets.values())) dependent.lookWaiting();
        parts.generators.setChanged(changed);
      },
      notice: (notice, of) => this.#notify(notice, of, config.name),
      turn: (work) => this.#plans.run(work),
      controller: config.name,
      stateDir: config.stateDir,
      seal: this.#deps.seal,
      parallelism: config.parallelism,
      nowMs,
    });
  }

  linksOf(set: SetConfig): readonly HostLink[] {
    const { configured, links } = this.#parts;
    const { tenant } = set;
    const hosts = hostsOf(set, configured.hosts);
    if (tenant?.certificate !== undefined) return hosts.map((host) => this.tenantLinks.of(host, tenant));
    return hosts.flatMap(({ name }) => links.get(name) ?? []);
  }

  #notify(notice: SetNotice, { name, notify }: SetConfig, controller: string): void {
    const at = new Date(this.#deps.nowMs()).toISOString();
    this.#parts.notifier?.notify({ ...notice, controller, set: name, at }, notify);
  }

  /** Undefined for a set without image updates. */
  updatesOf(set: ManagedSet): ImageUpdates | undefined {
    const { config } = set;
    const { sources } = this.#parts;
    const { source, watch } = sources.get(config.source) ?? {};
    if (config.images === undefined || config.isLeaving === true || source === undefined) return undefined;
    return new ImageUpdates({
      config,
      images: config.images,
      source,
      revision: () => watch?.status.revision,
      load: (revision, signal) => set.preview(revision, signal),
      client: (host) => {
        const link = set.hosts.find(({ name }) => name === host)?.link;
        return link?.isOnline === true ? link.client : undefined;
      },
      restraint: () =>
        this.#parts.isInCharge ? suspensionOfSet(config, set.suspensions) : 'another controller is active',
      onPushed: () => watch?.lookNow(),
      log: (level, message) => this.#deps.hub.log(level, message, { set: config.name }),
      nowMs: this.#deps.nowMs,
    });
  }
}

const statusLine = (what: string, { name, status, message }: HostStatus): Parameters<Hub['log']> => [
  status === 'offline' ? 'warn' : 'info',
  `${what} is ${status}${message === undefined ? '' : `: ${message}`}`,
  { host: name },
];

function intervalOf({ git, directory, archive, oci, bucket }: SourceConfig): number {
  const given = git?.interval ?? directory?.interval ?? archive?.interval ?? oci?.interval ?? bucket?.interval;
  const givenMs = given === undefined ? undefined : durationMs(given);
  return givenMs ?? (directory === undefined ? remoteMs : directoryMs);
}
