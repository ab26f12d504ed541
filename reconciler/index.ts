// The public door of the reconciler as a library: load manifests, observe, plan, check, execute. No code of its own.
export { addressOf, defaultManage } from './core/documents/document.ts';
export type { WaitCondition } from '../server/api/container/wait-condition.ts';
export type { Address, Document, Manage } from './core/documents/document.ts';
export type { Change } from './core/documents/change.ts';
export type { Diagnostic } from './core/documents/diagnostic.ts';
export { emptyWorld } from './core/documents/observed.ts';
export type { Live, Observed } from './core/documents/observed.ts';
export type { Guard, Plan, PlanInput, PlanOptions, PlanSummary, ResourceChange, Step } from './core/plan/plan.ts';
export { planChanges } from './core/decide/plan-changes.ts';
export { planDestroy } from './core/decide/plan-destroy.ts';
export { checkPlan } from './core/decide/check-plan.ts';
export { hasChanges, hasDifferences, summaryLine } from './core/plan/summary.ts';
export { renderPlan } from './core/render/render-plan.ts';
export { renderDiagnostics } from './core/render/render-diagnostics.ts';
export { planJson } from './core/render/plan-json.ts';
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
export type { Loaded, LoadInput } from './manifest/load-contract.ts';
export { observe } from './engine/observe/observe.ts';
export { execute } from './engine/execute.ts';
export type { ExecuteDeps } from './engine/execute.ts';
export type { RunResult } from './engine/run-result.ts';
export type { EngineEvent, Failure, FailureCode } from './engine/steps/events.ts';
export type { EngineClient } from './engine/steps/context.ts';
