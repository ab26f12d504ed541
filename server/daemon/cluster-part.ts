// The running daemon's part in its cluster: listens for the other members, publishes its status, relays their events.
import { totalmem } from 'node:os';
import { servedExtensions } from '../api/server/extensions.ts';
import { statusCodes } from '../api/status.ts';
import type { LifecycleMetadata } from '../api/event.ts';
import { containerOfUrl } from '../api/project/project-of-url.ts';
import { RecordKeeper } from './cluster/kept-records.ts';
import { ClockWatch } from '../membership/clock-watch.ts';
import { EventRelay } from '../membership/event-relay.ts';
import { peerHeaders } from '../membership/peer-headers.ts';
import { errorText } from '../lib/shared/reason.ts';
import { noteCertificate } from '../services/cluster/certificate/note-certificate.ts';
import { noteRelease, raiseRelease } from '../services/cluster/releases.ts';
import { serves } from '../services/server/https-listeners.ts';
import { settingOf } from '../services/shared/settings.ts';
import type { Services } from './compose/services.ts';
import type { Foundation } from './foundation.ts';
import type { Listeners } from './listeners.ts';
import { withoutUndefined } from '../lib/shared/without-undefined.ts';

/** Max warnings that a member sends to the others. */
const maxWarnings = 5;
/** How often a member catches up on changes that it missed. */
const realiseEveryMs = 60_000;
/** How often it looks for lost members, and whether it is cut off: with healing on, and otherwise. */
const lookEveryMs = { healing: 1_000, otherwise: 5_000 };

export class ClusterPart {
  readonly relay: EventRelay;
  readonly #base: Foundation;
  readonly #services: Services;
  readonly #unsubscribe: () => void;
  readonly #unfollow: () => void;
  readonly #unfollowSettings: () => void;
  readonly #realising: NodeJS.Timeout;
  readonly #clock: ClockWatch;
  #looking: NodeJS.Timeout | undefined;
  #listeners: Listeners | undefined;
  #isClosed = false;
  #isListed = true;
  readonly #keeper: RecordKeeper;
  #isToldReadOnly = false;

  constructor(base: Foundation, services: Services) {
    this.#base = base;
    this.#services = services;
    const { cluster, events, log } = base;
    this.#keeper = new RecordKeeper({ stateDir: base.stateDir, records: base.records, log });
    this.relay = new EventRelay({
      members: cluster.members,
      links: cluster.links,
      headers: () => peerHeaders(cluster.ownName),
      relay: (event, text) => events.relay(event, text),
      log,
    });
    this.#unsubscribe = events.subscribe(
      new Set(['lifecycle']),
      (event) => {
        const { action, source } = event.metadata as LifecycleMetadata;
        const container = containerOfUrl(source);
        if (container !== undefined) cluster.touch(container);
        if (action === 'config-updated') this.#settingsChanged();
      },
      true,
    );
    const unfollow = [services.networkAcls.follow(), services.profiles.follow(), services.projects.follow()];
    this.#unfollow = () => {
      for (const one of unfollow) one();
    };
    this.#unfollowSettings = base.records.onShared((kind) => {
      if (kind === 'server') this.#settingsChanged();
      if (kind === 'cluster') services.certificateChange.look();
      if (kind === 'clusterKeys' || kind === 'members') services.keyChange.look();
      if (kind === 'members') {
        void this.#raiseRelease();
        base.ownEtcd.lookSoon();
        this.#lookForOwn();
      }
    });
    this.#clock = new ClockWatch({
      others: () => cluster.members.reachable(),
      clockOf: (member) => cluster.clockOf(member),
      nowMs: () => base.clock.nowMs(),
      random: Math.random,
    });
    this.#realising = setInterval(() => void this.#lookAtMinute(), realiseEveryMs);
    this.#realising.unref();
    this.#lookLater();
    base.membership.set({
      listen: async (address) => {
        await this.#listen(address);
      },
      became: () => this.#become(),
    });
  }

  /** Resolves when the others can see a host that is a member. */
  async begin(listeners: Listeners): Promise<void> {
    this.#listeners = listeners;
    if (this.#base.cluster.isOn) await this.#become();
  }

  async close(): Promise<void> {
    this.#unsubscribe();
    this.#unfollow();
    this.#unfollowSettings();
    clearInterval(this.#realising);
    this.#isClosed = true;
    clearTimeout(this.#looking);
    this.#services.certificateChange.close();
    await this.#services.keyChange.close();
    this.#services.fencing.close();
    this.relay.close();
    await this.#keeper.close();
    await this.#base.cluster.disappear();
  }

  async #become(): Promise<void> {
    const { cluster, records, ownEtcd, release, log, certificates } = this.#base;
    const { view, keyChange } = this.#services;
    await this.#listen(cluster.members.byNumber(cluster.members.here)?.address);
    await this.#realise();
    this.#watchEtcds();
    await noteCertificate({ records, identity: this.#base.identity, log });
    await noteRelease({ records, release, log });
    await this.#raiseRelease();
    this.#services.fencing.begin(this.#services.restarts);
    await cluster.appear({
      isFenced: this.#services.fencing.isFenced,
      beforePublishing: this.#services.fencing.beforePublishing,
      ttlSeconds: () => Number(settingOf(records, 'cluster.offline_threshold')),
      statusOf: (container) =>
        records.containers.has(container) ? view.runtimeStatusCode(container) : statusCodes.stopped,
      present: () => ({
        version: release,
        extensions: servedExtensions.length,
        hasEtcd: ownEtcd.hasProgram,
        certificate: certificates.current.fingerprint,
        isReadOnly: this.#isReadOnly,
        ...withoutUndefined({ keys: keyChange.published }),
        warnings: [...this.#ownDisk(), ...ownEtcd.warnings, ...this.#unrealised(), ...this.#wrongClock()].slice(
          0,
          maxWarnings,
        ),
        load: {
          memoryTotalBytes: totalmem(),
          memoryFreeBytes: process.availableMemory(),
          containers: records.containers.size,
        },
      }),
    });
    keyChange.begin();
    this.#lookAfter();
  }

  /** The others may have removed this member while it was unreachable: it then writes nothing more, and the next start says how to
   *  continue. */
  #lookForOwn(): void {
    const { cluster, log } = this.#base;
    const isThere = !cluster.isOn || cluster.members.byNumber(cluster.members.here) !== undefined;
    if (!isThere && this.#isListed)
      log.error(
        'This host was removed from its cluster, and changes nothing there any more: stop gantryd, and make the host a single one with gantryd cluster leave',
      );
    this.#isListed = isThere;
  }

  /** Settings changed here or at another member. */
  #settingsChanged(): void {
    const { cluster, ownEtcd } = this.#base;
    void cluster.retime();
    ownEtcd.lookSoon();
    this.#lookAfter();
  }

  /** Every member tries when it sees a change: if one fails, the next does it. */
  async #raiseRelease(): Promise<void> {
    const { records, log, cluster } = this.#base;
    if (!cluster.isOn) return;
    await raiseRelease({ records, log }).catch((error: unknown) => {
      log.warn(`Noting that all members run a newer release failed: ${errorText(error)}`);
    });
  }

  /** A cluster whose members run etcds keeps that with the first members. */
  #watchEtcds(): void {
    const { ownEtcd, cluster, stores, records } = this.#base;
    ownEtcd.watch({
      members: cluster.members,
      useEndpoints: (endpoints) => stores.useEndpoints(endpoints),
      maxVoters: () => Number(settingOf(records, 'cluster.max_voters')),
    });
  }

  /** This member's own objects do not wait for the takeover of a lost member's. */
  #lookAfter(): void {
    if (this.#isClosed) return;
    const { fencing, restarts, healing } = this.#services;
    void fencing.tick();
    this.#keeper.look();
    if (this.#isReadOnly !== this.#isToldReadOnly) {
      this.#isToldReadOnly = this.#isReadOnly;
      void this.#base.cluster.publish();
    }
    restarts.tick();
    void healing.tick();
    this.#lookLater();
  }

  #lookLater(): void {
    clearTimeout(this.#looking);
    const everyMs = this.#services.fencing.isNeeded ? lookEveryMs.healing : lookEveryMs.otherwise;
    this.#looking = setTimeout(() => this.#lookAfter(), everyMs);
    this.#looking.unref();
  }

  async #lookAtMinute(): Promise<void> {
    const { cluster, log } = this.#base;
    await this.#realise();
    const before = this.#clock.problem;
    await this.#clock.look();
    const { problem } = this.#clock;
    if (problem === before) return;
    if (problem !== undefined) log.warn(problem);
    await cluster.publish();
  }

  #wrongClock(): readonly string[] {
    return this.#clock.problem === undefined ? [] : [this.#clock.problem];
  }

  /** Creates here what the cluster defines and this member lacks. */
  async #realise(): Promise<void> {
    if (!this.#base.cluster.isOn) return;
    this.#services.certificateChange.look();
    const before = this.#unrealised().join();
    await this.#services.clusterPools.definitions.realise();
    await this.#services.clusterNetworks.definitions.realise();
    if (this.#unrealised().join() !== before) await this.#base.cluster.publish();
  }

  get #isReadOnly(): boolean {
    return this.#base.room?.reason() !== undefined;
  }

  #ownDisk(): readonly string[] {
    const { dirs } = this.#base;
    return this.#isReadOnly
      ? [`The disk of ${dirs.database} is full: this member takes no changes until there is room`]
      : [];
  }

  /** Cluster definitions that this member has not realised. */
  #unrealised(): readonly string[] {
    const { clusterPools, clusterNetworks } = this.#services;
    return [...clusterPools.definitions.problems.values(), ...clusterNetworks.definitions.problems.values()];
  }

  /** A listener for clients on the same port also serves the members. */
  async #listen(address: string | undefined): Promise<void> {
    const tls = this.#listeners?.tls;
    if (tls === undefined) return;
    const isServed = [tls.svc, tls.lxd].some((listener) => serves(listener.address, address));
    await tls.members.listen(isServed ? undefined : address);
  }
}
