// The hosts of one set: each works until the set ends; hosts join and leave without interrupting those that stay.
import { reasonOf } from '../../../server/lib/shared/reason.ts';
import { ControllerError } from '../controller.ts';
import { Tasks } from '../tasks/tasks.ts';
import type { DriftRecord } from '../contract/index.ts';
import type { HostLink } from '../hosts/host-link.ts';
import type { SetOnHost } from './on-host/set-on-host.ts';

export interface SetHostsDeps {
  readonly links: readonly HostLink[];
  readonly make: (link: HostLink) => SetOnHost;
  /** Drift that earlier processes found. */
  readonly drift: () => Iterable<DriftRecord>;
}

export class SetHosts {
  /** Always the same array, so that rollouts see the hosts that join and leave. */
  readonly list: SetOnHost[];
  readonly #deps: SetHostsDeps;
  #tasks: Tasks | undefined;

  constructor(deps: SetHostsDeps) {
    this.#deps = deps;
    this.list = deps.links.map(deps.make);
  }

  restoreDrift(): void {
    this.#restore(this.list);
  }

  /** Starts all hosts; they end when `signal` fires. */
  begin(signal: AbortSignal): void {
    this.#tasks = new Tasks(signal);
    for (const host of this.list) this.#begin(host);
  }

  async ended(): Promise<void> {
    await this.#tasks?.ended();
  }

  /** Hosts that are no longer among `links`. */
  leaving(links: readonly HostLink[]): readonly SetOnHost[] {
    return this.list.filter(({ link }) => !links.includes(link));
  }

  /** Ends the hosts that leave, and begins those that join. */
  async change(links: readonly HostLink[], why: string): Promise<void> {
    await Promise.all(
      this.leaving(links).map(async (host) => {
        await this.#tasks?.end(host, why);
        await host.release();
      }),
    );
    const known = new Map(this.list.map((host) => [host.link, host]));
    const joined = links.filter((link) => !known.has(link)).map(this.#deps.make);
    for (const host of joined) known.set(host.link, host);
    this.list.splice(0, this.list.length, ...links.flatMap((link) => known.get(link) ?? []));
    this.#restore(joined);
    for (const host of joined) this.#begin(host);
  }

  async release(): Promise<void> {
    await Promise.all(this.list.map((host) => host.release()));
  }

  /** Takes the set from another controller. Rejects with the hosts where that failed. */
  async takeFromOther(names: readonly string[] | undefined): Promise<void> {
    const chosen = this.list.filter(({ name }) => names === undefined || names.includes(name));
    const results = await Promise.allSettled(chosen.map(async (host) => host.takeOver()));
    const failed = results.flatMap((one, at) =>
      one.status === 'rejected' ? [`${chosen[at]?.name ?? ''}: ${reasonOf(one.reason)}`] : [],
    );
    if (failed.length > 0) throw new ControllerError('unavailable', `it was not taken over on ${failed.join('; ')}`);
  }

  #restore(hosts: readonly SetOnHost[]): void {
    const drift = [...this.#deps.drift()];
    for (const host of hosts) host.restoreDrift(drift);
  }

  #begin(host: SetOnHost): void {
    this.#tasks?.begin(host, (signal) => host.run(signal));
  }
}
