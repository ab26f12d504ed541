// The plan as data: every object with its differences, and the steps that remove them. Their order leaves the executor no
// choice but parallelism. plan-changes.ts and plan-destroy.ts make plans, check-plan.ts checks them.
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
import type { PlaceText, SetPlace } from '../ownership/place.ts';

export type PowerAction = 'start' | 'stop' | 'restart';

/** A running or stopped container that an edit of a profile, network or pool reaches. */
export interface AffectedObject {
  readonly address: Address;
  readonly effect: Effect;
  /** Not in the manifests: this plan never restarts it. */
  readonly foreign: boolean;
}

/** Why a change is refused: the plan shows it, has no step for it, and the run ends with exit code 4. */
export interface Guard {
  readonly code:
    | 'protected'
    | 'disruption'
    | 'in-use'
    | 'conflict'
    | 'elsewhere'
    | 'prune-limit'
    | 'data'
    | 'dependency'
    /** Its document has an error, and the rest of the plan continues. */
    | 'invalid'
    | 'member';
  readonly address: Address;
  readonly message: string;
  readonly remedy: string;
}

export interface ResourceChange {
  readonly address: Address;
  readonly kind: KindName;
  readonly name: string;
  readonly action: 'create' | 'update' | 'replace' | 'delete' | 'no-op';
  /** Beside `action`; with `no-op` it is the whole change. */
  readonly power?: PowerAction;
  readonly changes: readonly Change[];
  /** The most expensive effect of the changes on this object. */
  readonly effect: Effect;
  /** Sentences that explain the action and the power step. */
  readonly reasons: readonly string[];
  /** Paths of the live object that the document does not mention; never touched. */
  readonly unmanaged: readonly string[];
  /** Paths of an existing object of which the set becomes an owner without a change; `['']`: only the recorded policy changes. */
  readonly claims: readonly string[];
  /** Paths that the set gives up without changing them. */
  readonly releases: readonly string[];
  /** Its only step writes the record of an object that is as declared. A plan of such changes alone counts as no changes. */
  readonly isTakeover?: boolean;
  /** Deleted or released because no document declares it any longer. */
  readonly isPruned?: boolean;
  /** A `replace` by a rebuild step, which keeps the old container until the new one is ready. */
  readonly isRebuilt?: boolean;
  readonly affects: readonly AffectedObject[];
  /** Its wave; absent when no object of the plan has one. */
  readonly wave?: number;
  /** The observed object; absent when it does not exist. */
  readonly live?: object;
  /** Dotted paths whose values are secret, in addition to those with a secret key. */
  readonly secrets?: readonly string[];
  /** The document or the live object protects it: no step may delete it. */
  readonly isProtected: boolean;
  readonly guard?: Guard;
  /** Its steps make `changes`; the guard delays the others. */
  readonly isSplit?: boolean;
  /** Differences that `manage.ignore` hides; absent: none. */
  readonly ignored?: readonly IgnoredDifference[];
  /** Ids of its steps, in order. */
  readonly steps: readonly string[];
}

interface StepBase {
  /** `container/web1#create`; stable between runs. */
  readonly id: string;
  readonly address: Address;
  readonly kind: KindName;
  /** Name in the API's URL (the fingerprint of an image), with its project if it has one. */
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
  /** Removes values of the source that no document declares. */
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
 * Rebuilds a container from another image. The old one is kept under another name until `afterwards` is done, and gets its name
 * back when a step fails.
 */
export interface RebuildStep extends StepBase {
  readonly action: 'rebuild';
  /** Body of the POST of the new container. */
  readonly body: JsonObject;
  readonly owner?: OwnerWrite;
  /** Member of the cluster. */
  readonly target?: string;
  /** The time that a clean stop of the old one may take. */
  readonly graceMs: number;
  /** Steps of the new container before the old one is deleted: start, waits. */
  readonly afterwards: readonly Step[];
}
export interface UpdateStep extends StepBase {
  readonly action: 'update';
  readonly edits: readonly Change[];
  readonly owner?: OwnerWrite | OwnerRelease;
  /** ETag of the observed object, if known. If the live one equals it, the step is not stale. */
  readonly etag?: string;
  /** Member of the cluster, of a volume that several have under one name. */
  readonly target?: string;
}
export interface DeleteStep extends StepBase {
  readonly action: 'delete';
  readonly etag?: string;
  /** Member of the cluster, of a volume that several have under one name. */
  readonly target?: string;
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
  /** The content of a file. */
  readonly content?: Content;
}
/** Entries inside a container, running or not: `writes` in their order, then `removes` in theirs. */
export interface FilesStep extends StepBase {
  readonly action: 'files';
  readonly writes: readonly FileWrite[];
  /** Paths; children come before their directory. A directory that is not empty stays. */
  readonly removes: readonly string[];
}
/** Runs a command of a document inside, unless it turns out not to be needed, and records that it ran. */
export interface ExecStep extends StepBase {
  readonly action: 'exec';
  /** Its name in the document. */
  readonly exec: string;
  readonly spec: ExecSpec;
  /** Texts to mask in its output. */
  readonly hidden: readonly string[];
  /** The record to write; absent: the run keeps no records. */
  readonly mark?: {
    readonly set: string;
    readonly command: string;
    readonly triggers: string;
    /** The mark is valid for one start of the container only. */
    readonly isPerStart: boolean;
  };
}
/** Takes a missing snapshot, or sets the expiry and description of an existing one. */
export interface SnapshotStep extends StepBase {
  readonly action: 'snapshot';
  readonly snapshot: string;
  readonly spec: SnapshotSpec;
  readonly isNew: boolean;
  /** Member of the cluster, of a volume that several have under one name. */
  readonly target?: string;
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
  /** Containers that restart, whether `change` counts them or not. */
  readonly restart: number;
  /** Both in `add` and `destroy`. */
  readonly replace: number;
  /** Containers that only start or stop; counted in `change`. */
  readonly power: number;
  /** Objects that are as declared and get a record of the set. */
  readonly claim: number;
}

export interface Plan {
  readonly mode: 'apply' | 'destroy';
  /** --target left something out. */
  readonly isPartial?: boolean;
  /** The set of the plan; absent: no records are kept. */
  readonly set?: string;
  /** Where its documents are declared; absent: places are neither recorded nor respected. */
  readonly place?: PlaceText;
  /** Sorted by kind order and name; every declared object, unchanged ones as `no-op`. */
  readonly changes: readonly ResourceChange[];
  /** Objects that the set owns, no document declares, and this plan leaves alone; sorted. */
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
  /** Leaves out these and their dependents (in a destroy, what they need). */
  readonly exclude?: readonly Address[];
  /** Excluded objects are left out only for now: while one of them is missing, no object with data is pruned. */
  readonly awaitsExcluded?: boolean;
  /** Undeclared objects that a prune leaves alone for now, with the reason. */
  readonly leaves?: ReadonlyMap<string, string>;
  /** Recreate these even without a change. */
  readonly replace?: readonly Address[];
  /** Lift `manage.disruption` for this run. */
  readonly allowRestart?: boolean;
  readonly allowRecreate?: boolean;
  /** Delays restarts, rebuilds and recreations; makes all other changes. */
  readonly defersDisruption?: boolean;
  /** Delete objects with data although no manifest allows it. */
  readonly allowDestroy?: boolean;
  /** Take keys from other sets. */
  readonly forceConflicts?: boolean;
  /** Delete objects that the set owns and no document declares. */
  readonly prune?: boolean;
  /** Max deletions of a prune; default half of the set's objects, at least 3. A percentage allows at least 1. */
  readonly pruneLimit?: { readonly count: number } | { readonly percent: number };
}

/** The set and the user of a plan. */
export interface SetOwner {
  readonly set: string;
  /** Hashes by the set's key (`SetState.key`). */
  readonly hash: KeyHash;
  /** Absent: places are neither recorded nor respected. */
  readonly place?: SetPlace;
}

export interface PlanInput {
  readonly documents: readonly Document[];
  readonly observed: Observed;
  readonly options?: PlanOptions;
  /** gantry.lock: fingerprints by alias. */
  readonly images?: ReadonlyMap<string, string>;
  /** Absent: cloud-init seeds are compared as plain text. */
  readonly compareSeeds?: CompareSeeds;
  /** Absent: ownership is neither read nor recorded. */
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
 */
