// Decides whether to heal, report or ignore drift. Pure.
import { matchesHost, type HostFacts, type HostPattern } from '../../core/documents/host-pattern.ts';
import { parseIgnore } from '../../core/ownership/ignored-paths.ts';
import { starPattern } from '../../core/text/star-pattern.ts';
import type { DriftAction, DriftRule } from '../config/config.ts';

interface RuleTest {
  readonly action: DriftAction;
  readonly hosts: HostPattern | undefined;
  readonly address: RegExp | undefined;
  readonly path: ((text: string) => boolean) | undefined;
}

export class DriftRules {
  readonly #mode: DriftAction;
  /** The last one first. */
  readonly #rules: readonly RuleTest[];

  constructor(mode: DriftAction, rules: readonly DriftRule[]) {
    this.#mode = mode;
    this.#rules = rules
      .map(({ action, hosts, address, path }): RuleTest => ({
        action,
        hosts,
        address: address === undefined ? undefined : starPattern(address),
        path: path === undefined ? undefined : parseIgnore([path])[0]?.test,
      }))
      .reverse();
  }

  /** `path`: `state` for running or stopped, empty for the object as a whole. */
  actionFor(host: HostFacts, address: string, path: string): DriftAction {
    const rule = this.#rules.find(
      (one) =>
        (one.hosts === undefined || matchesHost(one.hosts, host)) &&
        (one.address === undefined || one.address.test(address)) &&
        (one.path === undefined || one.path(path)),
    );
    return rule?.action ?? this.#mode;
  }
}
