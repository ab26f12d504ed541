// The latest change of each object that the host reported, with the name of its author where it is known.
import type { LifecycleChange } from '../../../core/drift/lifecycle-changes.ts';
import type { HostLink } from '../../hosts/host-link.ts';

const maxKept = 2000;

export class ReportedChanges {
  readonly #link: HostLink;
  readonly #latest = new Map<string, LifecycleChange>();

  constructor(link: HostLink) {
    this.#link = link;
  }

  note(seen: readonly LifecycleChange[]): void {
    for (const one of seen) this.#latest.set(one.address, one);
  }

  /** By address. */
  async of(addresses: ReadonlySet<string>, signal: AbortSignal): Promise<ReadonlyMap<string, LifecycleChange>> {
    const wanted = [...this.#latest.values()].filter(({ address }) => addresses.has(address));
    const named = await this.#link.named(wanted, signal);
    if (this.#latest.size > maxKept) this.#latest.clear();
    return new Map(named.map((one) => [one.address as string, one]));
  }
}
