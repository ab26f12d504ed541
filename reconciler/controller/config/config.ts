// The config of a controller as the engine uses it: absolute paths, durations in milliseconds, defaults filled in.
import type { Schedule } from '../../../server/api/container/snapshot-schedule.ts';
import type { Diagnostic } from '../../core/documents/diagnostic.ts';
import type { Finding } from '../../manifest/text/finding.ts';
import type { HostPattern } from '../../core/documents/host-pattern.ts';
import type { VaultSettings } from '../../manifest/secrets/vault-session.ts';
import type { PlanOptions } from '../../core/plan/plan.ts';
import type { HookPhase } from './hook-schema.ts';
import type { Tenant } from '../tenancy/tenant.ts';
import type { GeneratorConfig } from './generator-schema.ts';
import type { AuthConfig, DriftAction, NotificationConfig, SourceConfig, TracingConfig, WrittenSet } from './schema.ts';

export type { AuthConfig, DriftAction, NotificationConfig, SourceConfig, TracingConfig };

export interface ControllerConfig {
  /** Absolute path of gantry.yaml. */
  readonly file: string;
  /** Its directory: relative paths of `sources` and `notifications` begin there. */
  readonly folder: string;
  /** Finds the place in gantry.yaml of a problem that is found later, such as an unknown host. */
  readonly locate?: (finding: Finding) => Diagnostic;
  readonly name: string;
  readonly stateDir: string;
  /** The file with the key of digests in `stateDir`. */
  readonly stateKey: string;
  readonly listen?: string;
  /** Where browsers reach the API. */
  readonly url?: string;
  readonly tls?: { readonly cert: string; readonly key: string };
  readonly auth?: AuthConfig;
  readonly anonymous?: 'view';
  readonly console: boolean;
  /** Addresses and networks whose X-Forwarded-For is believed. */
  readonly trustedProxies: readonly string[];
  readonly parallelism: number;
  readonly hostsFile: string;
  readonly sources: readonly SourceConfig[];
  readonly sets: readonly SetConfig[];
  readonly generators: readonly GeneratorConfig[];
  /** Reads the sets that generators make. */
  readonly readGenerated: ReadGenerated;
  readonly notifications: readonly NotificationConfig[];
  readonly tracing?: TracingConfig;
}

/** Reads a generated set; `at`: its place in gantry.yaml. The set is absent if there are problems. */
export type ReadGenerated = (
  set: WrittenSet,
  at: string,
) => { readonly set?: SetConfig; readonly problems: readonly Finding[] };

export interface Window {
  readonly schedule: readonly Schedule[];
  readonly durationMs: number;
  readonly timezone: string;
}

export interface Windows {
  readonly allow: readonly Window[];
  readonly deny: readonly Window[];
}

export interface DriftRule {
  readonly address?: string;
  readonly path?: string;
  readonly hosts?: HostPattern;
  readonly action: DriftAction;
}

export interface SetConfig {
  readonly name: string;
  readonly source: string;
  /** The tenant whose rules apply to its documents and steps. */
  readonly tenant?: Tenant;
  /** Relative to the checkout of the source. */
  readonly path: string;
  /** The project of objects that name none; with `config` the set creates it. */
  readonly project?: ProjectOfSet;
  /** Empty: all hosts. */
  readonly hosts: readonly HostPattern[];
  readonly variables: Readonly<Record<string, string>>;
  readonly environment?: string;
  /** Absolute path. */
  readonly ageKeyFile?: string;
  /** Absolute path. */
  readonly gpgKeyFile?: string;
  /** Where its manifests find secrets of Vault; files are absolute. */
  readonly vault?: VaultSettings & { readonly intervalMs: number };
  readonly dependsOn: readonly string[];
  readonly intervalMs: number;
  readonly mode: DriftAction;
  readonly rules: readonly DriftRule[];
  readonly plan: Pick<
    PlanOptions,
    'prune' | 'pruneLimit' | 'allowDestroy' | 'allowRestart' | 'allowRecreate' | 'forceConflicts'
  >;
  readonly allowsPartial: boolean;
  readonly retry: { readonly firstMs: number; readonly longestMs: number };
  readonly timeoutMs: number;
  readonly health: { readonly wait: boolean; readonly timeoutMs?: number };
  readonly windows: Windows;
  readonly disruptive: Windows;
  readonly rollout: Rollout;
  /** Plans that a second person must approve. */
  readonly approval?: ApprovalRule;
  readonly hooks: Hooks;
  /** How many earlier revisions are kept for a rollback. */
  readonly keepRevisions: number;
  readonly notify: readonly string[];
  readonly images?: ImageAutomation;
  /** The reason. */
  readonly suspended?: string;
  /** The generator that made it. */
  readonly generator?: string;
  /** Its generator no longer makes it: its objects are deleted, then it ends. */
  readonly isLeaving?: true;
}

export interface ProjectOfSet {
  readonly name: string;
  readonly config?: Readonly<Record<string, string>>;
}

/** The least first. */
export const approvalLevels = ['delete', 'disrupt', 'all'] as const;
export type ApprovalLevel = (typeof approvalLevels)[number];

export interface ApprovalRule {
  readonly level: ApprovalLevel;
  /** How long an approval holds. */
  readonly expiresMs: number;
}

export interface Hook {
  readonly name: string;
  readonly container: string;
  readonly command: readonly string[];
  readonly hosts?: HostPattern;
  readonly timeoutMs: number;
  readonly isOptional: boolean;
  /** In the phases around a wave. */
  readonly wave?: number;
}

export type Hooks = Readonly<Partial<Record<HookPhase, readonly Hook[]>>>;

export interface ImageAutomation {
  readonly intervalMs: number;
  /** Absent: the branch that the source follows. */
  readonly branch?: string;
  readonly author: { readonly name: string; readonly email: string };
  readonly message?: string;
}

export interface Rollout {
  readonly size: { readonly count: number } | { readonly percent: number };
  readonly canary: number;
  readonly stopAfter: number;
  readonly rollback: boolean;
  readonly checks: readonly MetricCheck[];
}

/** Paths of files are absolute. */
export interface MetricCheck {
  readonly min?: number;
  readonly max?: number;
  readonly name: string;
  readonly url: string;
  readonly query: string;
  readonly forMs: number;
  readonly intervalMs: number;
  readonly failures: number;
  readonly tokenFile?: string;
  readonly caFile?: string;
}

/** The default of `keepRevisions`. */
export const standardKept = 20;
