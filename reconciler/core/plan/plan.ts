// The plan as data: every object with what differs, and the steps to make it so, in an order that leaves the executor no
// choice but parallelism. Made only by plan-changes.ts and plan-destroy.ts, judged by check-plan.ts.
import type { KindName } from '../../../server/api/kinds.ts';
import type { Effect } from '../../../server/api/schema/field.ts';
import type { Change } from '../documents/change.ts';
import type { Diagnostic } from '../documents/diagnostic.ts';
import type { WaitCondition } from '../../../server/api/container/wait-condition.ts';
import type { Address, Document, ImageFiles, JsonObject } from '../documents/document.ts';
import type { IgnoredDifference } from '../ownership/ignored-paths.ts';
import type { Content, ExecSpec, FileEntry, SnapshotSpec } from '../documents/inside.ts';
import type { Observed } from '../documents/observed.ts';
import type { CompareSeeds } from '../settings/cloud-init-seeds.ts';
import type { KeyHash, OwnerRelease, OwnerWrite } from '../ownership/owner-records.ts';

export type ChangeAction = 'create' | 'update' | 'replace' | 'delete' | 'no-op';
export type PowerAction = 'start' | 'stop' | 'restart';

/** A running or stopped container that an edit of a profile, network or pool reaches. */
export interface Affected {
  readonly address: Address;
  readonly effect: Effect;
  /** Not in the manifests: this plan never restarts it. */
  readonly foreign: boolean;
}

/** Why a change is refused: the plan shows it, has no step for it, and the run ends with exit code 4. */
export interface Guard {
  readonly code: 'protected' | 'disruption' | 'in-use' | 'conflict' | 'prune-limit' | 'data' | 'dependency';
  readonly address: Address;
  readonly message: string;
  readonly remedy: string;
}

export interface ResourceChange {
  readonly address: Address;
  readonly kind: KindName;
  readonly name: string;
  readonly action: ChangeAction;
  /** Beside `action`; with `no-op` it is the whole change. */
  readonly power?: PowerAction;
  readonly changes: readonly Change[];
  /** The most expensive of the changes, as it hits this object. */
  readonly effect: Effect;
  /** Sentences: why this action, why this power step. */
  readonly reasons: readonly string[];
  /** Paths of the live object that the document does not mention; never touched. */
  readonly unmanaged: readonly string[];
  /** Paths of an existing object that come into the set's ownership as they are; `['']`: only its policy is noted anew. */
  readonly claims: readonly string[];
  /** Paths that the set gives up without changing them. */
  readonly releases: readonly string[];
  /** Its only step puts into the set's record what is as declared already: a plan of these alone counts as no changes. */
  readonly isTakeover?: boolean;
  /** No longer declared, and deleted or let go for that. */
  readonly isPruned?: boolean;
  /** Of a `replace`: by a rebuild step, which keeps the old container until the new one is ready. */
  readonly isRebuilt?: boolean;
  readonly affects: readonly Affected[];
  /** In which wave it is; absent where no object of the plan has one. */
  readonly wave?: number;
  /** The object as it was observed; absent when it did not exist. */
  readonly live?: object;
  /** Dotted paths whose values are secret, beside those whose key says so. */
  readonly secrets?: readonly string[];
  /** By the document or by the live object: no step may delete it. */
  readonly isProtected: boolean;
  readonly guard?: Guard;
  /** What differs and is left alone for `manage.ignore`; absent: nothing. */
  readonly ignored?: readonly IgnoredDifference[];
  /** Ids of its steps, in order. */
  readonly steps: readonly string[];
}

interface StepBase {
  /** `container/web1#create`; stable between runs. */
  readonly id: string;
  readonly address: Address;
  readonly kind: KindName;
  /** Name in the API's URL: of an image its fingerprint. With its project when it has one. */
  readonly name: string;
  readonly project?: string;
  /** Ids of the steps that must have succeeded. */
  readonly needs: readonly string[];
  readonly timeoutMs: number;
}
export interface CreateStep extends StepBase {
  readonly action: 'create';
  /** Body of the POST; for an image the {public, auto_update, properties} to go with the upload. */
  readonly body: JsonObject;
  readonly upload?: ImageFiles;
  /** What it begins with from its source, and no document says, is taken away. */
  readonly isExact?: true;
  /** Member of the cluster, or `@GROUP`. */
  readonly target?: string;
  readonly owner?: OwnerWrite;
}
/**
 * Read the object, check with `isStale(live, step)`, send `putBody(kind, live, edits)` with the ETag of that read as
 * If-Match; on 412 do it again. Without edits only the owner's record is written.
 */
/**
 * Makes a container anew of another image: the old one stands aside under another name until `afterwards` is done, and takes its
 * place again when something of this fails.
 */
export interface RebuildStep extends StepBase {
  readonly action: 'rebuild';
  /** Body of the POST of the new container. */
  readonly body: JsonObject;
  readonly owner?: OwnerWrite;
  /** Member of the cluster. */
  readonly target?: string;
  /** Of a clean stop of the old one. */
  readonly graceMs: number;
  /** What the new container goes through before the old one is given up: start, waits. */
  readonly afterwards: readonly Step[];
}
export interface UpdateStep extends StepBase {
  readonly action: 'update';
  readonly edits: readonly Change[];
  readonly owner?: OwnerWrite | OwnerRelease;
  /** ETag of the object the plan was made from, when known. Equal to the live one = not stale without looking further. */
  readonly etag?: string;
}
export interface DeleteStep extends StepBase {
  readonly action: 'delete';
  readonly etag?: string;
}
export interface PowerStep extends StepBase {
  readonly action: PowerAction;
  /** When a clean stop takes longer than `graceMs`: `after-grace` then kills. `at-once` kills right away. */
  readonly force: 'never' | 'after-grace' | 'at-once';
  readonly graceMs: number;
}
export interface WaitStep extends StepBase {
  readonly action: 'wait';
  readonly condition: WaitCondition;
}
export interface FileWrite {
  readonly path: string;
  readonly entry: FileEntry;
  /** Of a file. */
  readonly content?: Content;
}
/** Entries inside a container, running or not: written in this order, then taken away in that. */
export interface FilesStep extends StepBase {
  readonly action: 'files';
  readonly writes: readonly FileWrite[];
  /** Paths; what is below comes before. A directory that is not empty stays. */
  readonly removes: readonly string[];
}
/** Runs a command of a document inside, unless it turns out not to be needed, and records that it ran. */
export interface ExecStep extends StepBase {
  readonly action: 'exec';
  /** Its name in the document. */
  readonly exec: string;
  readonly spec: ExecSpec;
  /** Texts that must not get out with what it prints. */
  readonly hidden: readonly string[];
  /** What to record; absent: nobody keeps records. */
  readonly mark?: {
    readonly set: string;
    readonly command: string;
    readonly triggers: string;
    /** The mark holds of one start of the container only. */
    readonly isPerStart: boolean;
  };
}
/** Takes a snapshot that is not there, or gives one that is its expiry and description. */
export interface SnapshotStep extends StepBase {
  readonly action: 'snapshot';
  readonly snapshot: string;
  readonly spec: SnapshotSpec;
  readonly isNew: boolean;
}
export type Step =
  | CreateStep
  | UpdateStep
  | DeleteStep
  | RebuildStep
  | PowerStep
  | WaitStep
  | FilesStep
  | ExecStep
  | SnapshotStep;

export interface PlanSummary {
  readonly add: number;
  readonly change: number;
  readonly destroy: number;
  /** Of `change` and beside it: containers that restart. */
  readonly restart: number;
  /** Both in `add` and `destroy`. */
  readonly replace: number;
  /** Containers that only start or stop; counted in `change`. */
  readonly power: number;
  /** Objects that are as declared and come into the set's ownership. */
  readonly claim: number;
}

export interface Plan {
  readonly mode: 'apply' | 'destroy';
  /** --target left something out. */
  readonly isPartial?: boolean;
  /** The set that the plan is made for; absent: nobody keeps records. */
  readonly set?: string;
  /** Sorted by kind order and name; every declared object, unchanged ones as `no-op`. */
  readonly changes: readonly ResourceChange[];
  /** What the set owns and no document declares, and what this plan leaves alone; sorted. */
  readonly orphans: readonly Address[];
  /** In a valid serial order. */
  readonly steps: readonly Step[];
  readonly guards: readonly Guard[];
  /** Errors here (missing references, cycles) mean: no steps at all. */
  readonly diagnostics: readonly Diagnostic[];
  readonly summary: PlanSummary;
}

export interface PlanOptions {
  /** Only these and what they need. */
  readonly targets?: readonly Address[];
  /** Not these, and (a destroy: not what they need) not what needs them. */
  readonly exclude?: readonly Address[];
  /** Recreate these even without a change. */
  readonly replace?: readonly Address[];
  /** Lift `manage.disruption` for this run. */
  readonly allowRestart?: boolean;
  readonly allowRecreate?: boolean;
  /** Delete what holds data although nothing in its manifest said so. */
  readonly allowDestroy?: boolean;
  /** Take keys from other sets. */
  readonly forceConflicts?: boolean;
  /** Delete what the set owns and no document declares. */
  readonly prune?: boolean;
  /** The most that a prune may delete; default half of what the set owns, at least 3. */
  readonly pruneLimit?: { readonly count: number } | { readonly percent: number };
}

/** In whose name a plan is made. */
export interface SetOwner {
  readonly set: string;
  /** With the set's key (`SetState.key`). */
  readonly hash: KeyHash;
}

export interface PlanInput {
  readonly documents: readonly Document[];
  readonly observed: Observed;
  readonly options?: PlanOptions;
  /** gantry.lock: fingerprints by alias. */
  readonly images?: ReadonlyMap<string, string>;
  /** Absent: seeds of a first boot are compared letter by letter. */
  readonly compareSeeds?: CompareSeeds;
  /** Absent: ownership is neither looked at nor recorded. */
  readonly owner?: SetOwner;
}

/*
 * Functions of this room over these types:
 *   planChanges(input: PlanInput): Plan                                   plan-changes.ts
 *   planDestroy(input: PlanInput): Plan                                   plan-destroy.ts
 *   checkPlan(plan: Plan, observed: Observed): readonly Problem[]         check-plan.ts
 *   hasChanges(plan: Plan): boolean                                       summary.ts
 *   renderPlan(plan: Plan, options: { color: Color }): string           render-plan.ts
 *   planJson(plan: Plan): PlanJson                                        plan-json.ts (Terraform's `show -json` keys)
 *   putBody(kind: KindName, live: object, edits: readonly Change[]): JsonObject   apply-edits.ts
 *   isStale(live: object, step: UpdateStep): boolean                      apply-edits.ts
 *   renderDiagnostics(diagnostics, { color: Color }): string            render-diagnostics.ts
 * and of the manifest room:
 *   loadManifests(input: LoadInput, signal?: AbortSignal): Promise<Loaded>   manifest/load.ts
 */
