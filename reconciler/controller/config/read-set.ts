// Reads one set of gantry.yaml with its defaults: durations, windows, hosts, rollout. Reports problems.
import { resolve } from 'node:path';
import { kinds } from '../../../server/api/kinds.ts';
import { projectConfigProblems } from '../../../server/api/project/project-config.ts';
import { parseSchedule } from '../../../server/api/container/snapshot-schedule.ts';
import { parseHostPattern, type HostPattern } from '../../core/documents/host-pattern.ts';
import { hookPhases, type HookPhase, type WrittenHook } from './hook-schema.ts';
import {
  standardKept,
  type DriftRule,
  type Hook,
  type Hooks,
  type MetricCheck,
  type Rollout,
  type SetConfig,
  type Window,
  type Windows,
} from './config.ts';
import type { Report } from './report.ts';
import { durationMs } from '../../../server/api/text/durations.ts';
import { readApproval } from './read-approval.ts';
import { readSecrets } from './read-secrets.ts';
import type { WrittenSet, WrittenWindow } from './schema.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

interface WrittenWindows {
  readonly allow?: readonly WrittenWindow[];
  readonly deny?: readonly WrittenWindow[];
}

/** Between two full comparisons of a host. */
export const defaultIntervalMs = 300_000;
const longestMs = 366 * 86_400_000;

export class SetReader {
  readonly #set: WrittenSet;
  readonly #at: string;
  readonly #report: Report;
  readonly #folder: string;

  /** `folder`: the folder of gantry.yaml. */
  constructor(set: WrittenSet, at: string, report: Report, folder: string) {
    this.#folder = folder;
    this.#set = set;
    this.#at = at;
    this.#report = report;
  }

  read(): SetConfig {
    const {
      name,
      source,
      path = '.',
      variables = {},
      environment,
      dependsOn = [],
      mode = 'heal',
      notify = [],
    } = this.#set;
    const { secrets, retry, health, windows, suspended, allow, approval, hosts = [] } = this.#set;
    const timeout = this.#optional('health.timeout', health?.timeout);
    if (/^\/|(^|\/)\.\.(\/|$)/.test(path)) this.#wrong('path', 'must lie within the source');
    return {
      name,
      source,
      path,
      hosts: (typeof hosts === 'string' ? [hosts] : hosts).flatMap((text, index) =>
        this.#pattern(typeof hosts === 'string' ? 'hosts' : `hosts.${index}`, text),
      ),
      ...this.#project(),
      variables,
      ...withoutUndefined({ environment }),
      ...readSecrets(secrets ?? {}, {
        absolute: (file) => resolve(this.#folder, file),
        duration: (at, value, otherwise, least) => this.#duration(at, value, otherwise, least),
        wrong: (at, message) => this.#wrong(at, message),
      }),
      dependsOn,
      intervalMs: this.#duration('interval', this.#set.interval, defaultIntervalMs, 1000),
      mode,
      rules: this.#rules(),
      plan: this.#plan(),
      allowsPartial: allow?.partial !== false,
      retry: {
        firstMs: this.#duration('retry.first', retry?.first, 5000, 100),
        longestMs: this.#duration('retry.longest', retry?.longest, 300_000, 100),
      },
      timeoutMs: this.#duration('timeout', this.#set.timeout, 1_800_000, 1000),
      health: { wait: health?.wait !== false, ...withoutUndefined({ timeoutMs: timeout }) },
      windows: this.#windows('windows', windows),
      disruptive: this.#windows('windows.disruptive', windows?.disruptive),
      rollout: this.#rollout(),
      hooks: this.#hooks(),
      keepRevisions: this.#set.keepRevisions ?? standardKept,
      notify,
      ...(approval === undefined ? {} : { approval: readApproval(approval, `${this.#at}.approval`, this.#report) }),
      ...this.#images(),
      ...withoutUndefined({ suspended }),
    };
  }

  #project(): Pick<SetConfig, 'project'> {
    const { project } = this.#set;
    if (project === undefined) return {};
    const { name, config: written } =
      typeof project === 'string' ? { name: project, config: undefined } : { config: {}, ...project };
    const texts = Object.entries(written ?? {}).map(([key, value]) => [key, String(value)] as const);
    const config = written === undefined ? undefined : Object.fromEntries(texts);
    const broken = kinds.project.nameRule(name);
    if (broken !== undefined) this.#wrong('project', `has the name ${JSON.stringify(name)}, which ${broken}`);
    for (const { path, message } of projectConfigProblems(config ?? {})) this.#wrong(`project.${path}`, message);
    return { project: { name, ...withoutUndefined({ config }) } };
  }

  #plan(): SetConfig['plan'] {
    const { prune, allow } = this.#set;
    const max = prune?.max;
    const limit =
      typeof max === 'string' ? { percent: Number(max.slice(0, -1)) } : max === undefined ? undefined : { count: max };
    return {
      prune: prune !== undefined,
      ...withoutUndefined({ pruneLimit: limit }),
      allowDestroy: prune?.data === true,
      allowRestart: allow?.restart === true,
      allowRecreate: allow?.recreate === true,
      forceConflicts: allow?.conflicts === true,
    };
  }

  #images(): Pick<SetConfig, 'images'> {
    const { images } = this.#set;
    if (images === undefined) return {};
    const { interval, branch, author = { name: 'Gantry', email: 'gantry@localhost' }, message } = images;
    return {
      images: {
        intervalMs: this.#duration('images.interval', interval, 3_600_000, 1000),
        author,
        ...withoutUndefined({ branch, message }),
      },
    };
  }

  #rules(): readonly DriftRule[] {
    return (this.#set.rules ?? []).map(({ address, path, hosts, action }, index) => {
      const [pattern] = hosts === undefined ? [] : this.#pattern(`rules.${index}.hosts`, hosts);
      return {
        ...withoutUndefined({ address, path, hosts: pattern }),
        action,
      };
    });
  }

  #rollout(): Rollout {
    const { batches = '100%', canary = 0, stopAfter = 1, rollback = false } = this.#set.rollout ?? {};
    const size = typeof batches === 'number' ? { count: batches } : { percent: Number(batches.slice(0, -1)) };
    if ('percent' in size && (size.percent < 1 || size.percent > 100))
      this.#wrong('rollout.batches', `must be a number of hosts or a share from 1% to 100%, is ${batches}`);
    return { size, canary, stopAfter, rollback, checks: this.#checks() };
  }

  #checks(): readonly MetricCheck[] {
    return (this.#set.rollout?.checks ?? []).map((check, index): MetricCheck => {
      const at = `rollout.checks.${index}`;
      const { name, url, query, min, max, interval, failures = 1, tokenFile, caFile } = check;
      if (min === undefined && max === undefined) this.#wrong(at, 'needs max or min');
      const forMs = this.#duration(`${at}.for`, check.for, 300_000, 1000);
      return {
        name,
        url,
        query,
        forMs,
        intervalMs: this.#duration(`${at}.interval`, interval, 30_000, 500),
        failures,
        ...withoutUndefined({ min, max }),
        ...(tokenFile === undefined ? {} : { tokenFile: resolve(this.#folder, tokenFile) }),
        ...(caFile === undefined ? {} : { caFile: resolve(this.#folder, caFile) }),
      };
    });
  }

  #hooks(): Hooks {
    const written = this.#set.hooks ?? {};
    const phases = hookPhases.flatMap((phase) => {
      const list = written[phase];
      return list === undefined
        ? []
        : [[phase, list.map((hook, index) => this.#hook(phase, hook, index, list))] as const];
    });
    return Object.fromEntries(phases);
  }

  #hook(phase: HookPhase, written: WrittenHook, index: number, list: readonly WrittenHook[]): Hook {
    const at = `hooks.${phase}.${index}`;
    const { name, container, command, hosts, timeout, optional: isOptional = false, wave } = written;
    if (list.findIndex((one) => one.name === name) !== index)
      this.#wrong(`${at}.name`, `is ${name}, which is used twice`);
    const broken = kinds.container.nameRule(container);
    if (broken !== undefined) this.#wrong(`${at}.container`, `is ${JSON.stringify(container)}, which ${broken}`);
    const [pattern] = hosts === undefined ? [] : this.#pattern(`${at}.hosts`, hosts);
    const timeoutMs = this.#duration(`${at}.timeout`, timeout, 300_000, 1000);
    return {
      name,
      container,
      command,
      timeoutMs,
      isOptional,
      ...withoutUndefined({ hosts: pattern, wave }),
    };
  }

  #windows(path: string, written: WrittenWindows | undefined): Windows {
    const of = (word: 'allow' | 'deny'): readonly Window[] =>
      (written?.[word] ?? []).map((window, index) => this.#window(`${path}.${word}.${index}`, window));
    return { allow: of('allow'), deny: of('deny') };
  }

  #window(path: string, { cron, duration, timezone = 'UTC' }: WrittenWindow): Window {
    const schedule = parseSchedule(cron);
    if (typeof schedule === 'string') this.#wrong(`${path}.cron`, schedule);
    else if (schedule.length === 0) this.#wrong(`${path}.cron`, 'never begins');
    if (!isTimezone(timezone)) this.#wrong(`${path}.timezone`, `names no time zone: ${JSON.stringify(timezone)}`);
    return {
      schedule: typeof schedule === 'string' ? [] : schedule,
      durationMs: this.#duration(`${path}.duration`, duration, 0, 60_000, 7 * 86_400_000),
      timezone,
    };
  }

  #pattern(path: string, text: string): readonly HostPattern[] {
    const pattern = parseHostPattern(text);
    if (typeof pattern !== 'string') return [pattern];
    this.#wrong(path, pattern);
    return [];
  }

  #optional(path: string, value: string | number | undefined): number | undefined {
    return value === undefined ? undefined : this.#duration(path, value, 0, 1000);
  }

  #duration(
    path: string,
    value: string | number | undefined,
    otherwise: number,
    least: number,
    max = longestMs,
  ): number {
    if (value === undefined) return otherwise;
    const found = durationMs(value);
    if (found === undefined) {
      this.#wrong(path, `must be a duration such as 90s, 5m, 1h30m or 2d, is ${JSON.stringify(value)}`);
      return otherwise;
    }
    if (found < least || found > max)
      this.#wrong(path, `must be from ${least / 1000}s to ${max / 1000}s, is ${String(value)}`);
    return found;
  }

  #wrong(path: string, message: string): void {
    this.#report(`${this.#at}.${path}`, message);
  }
}

function isTimezone(name: string): boolean {
  try {
    return Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== '';
  } catch {
    return false;
  }
}
