// The public door of the reconciler as a library: load manifests, observe, plan, check, execute. No code of its own.
export { addressOf, defaultManage } from './core/document.ts';
export type { WaitCondition } from '../server/api/container/wait-condition.ts';
export type { Address, Document, Manage } from './core/document.ts';
export type { Change } from './core/change.ts';
export type { Diagnostic } from './core/diagnostic.ts';
export { emptyWorld } from './core/observed.ts';
export type { Live, Observed } from './core/observed.ts';
export type { Guard, Plan, PlanInput, PlanOptions, PlanSummary, ResourceChange, Step } from './core/plan.ts';
export { planChanges } from './core/plan-changes.ts';
export { planDestroy } from './core/plan-destroy.ts';
export { checkPlan } from './core/check.ts';
export { hasChanges, hasDifferences, summaryLine } from './core/summary.ts';
export { renderPlan } from './core/render-plan.ts';
export { renderDiagnostics } from './core/render-diagnostics.ts';
export { planJson } from './core/plan-json.ts';
export { defineStack } from './manifest/define-stack.ts';
export type {
  ContainerSpec,
  Documents,
  ExecSpec,
  FileSpec,
  SnapshotPolicy,
  SnapshotSpec,
  Stack,
} from './manifest/define-stack.ts';
export { loadManifests } from './manifest/load.ts';
export type { Loaded, LoadInput } from './manifest/types.ts';
export { observe } from './engine/observe.ts';
export { execute } from './engine/execute.ts';
export type { ExecuteDeps, RunResult } from './engine/execute.ts';
export type { EngineEvent, Failure, FailureCode } from './engine/events.ts';
export type { EngineClient } from './engine/steps/context.ts';
