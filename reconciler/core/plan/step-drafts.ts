// Steps before they join a plan: the actions on one object in their order, without ids and needs.
import type { Address, Document } from '../documents/document.ts';
import { coreKind } from '../kinds/index.ts';
import type {
  CreateStep,
  DeleteStep,
  ExecStep,
  FilesStep,
  PowerStep,
  RebuildStep,
  SnapshotStep,
  Step,
  UpdateStep,
  WaitStep,
} from './plan.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

type StepFacts<T extends Step> = Omit<T, 'id' | 'address' | 'kind' | 'name' | 'needs' | 'timeoutMs'>;
type RebuildSketch = Omit<StepFacts<RebuildStep>, 'afterwards' | 'graceMs'> & {
  readonly afterwards: readonly Sketch[];
};
export type Sketch =
  | StepFacts<CreateStep>
  | StepFacts<UpdateStep>
  | StepFacts<DeleteStep>
  | StepFacts<PowerStep>
  | StepFacts<WaitStep>
  | StepFacts<FilesStep>
  | StepFacts<ExecStep>
  | StepFacts<SnapshotStep>
  | RebuildSketch;

const cleanStopMs = 30_000;

export const start: Sketch = { action: 'start', force: 'never', graceMs: 0 };
export const stop: Sketch = { action: 'stop', force: 'after-grace', graceMs: cleanStopMs };
export const restart: Sketch = { action: 'restart', force: 'after-grace', graceMs: cleanStopMs };
/** A stop before a delete, where no state needs to be saved. */
export const kill: Sketch = { action: 'stop', force: 'at-once', graceMs: 0 };

export const waits = (document: Document): readonly Sketch[] =>
  document.manage.wait.map((condition) => ({ action: 'wait', condition }));

export const deleting = (etag: string | undefined): Sketch => ({
  action: 'delete',
  ...withoutUndefined({ etag }),
});

/** Turns sketches into steps: each needs the one before it, the first one needs `needs`. */
export function makeSteps(document: Document, sketches: readonly Sketch[], needs: readonly string[]): readonly Step[] {
  const used = new Set<string>();
  let previous = needs;
  return sketches.map((sketch): Step => {
    const id = freeId(document.address, sketch.action, used);
    const step = makeStep(document, sketch, id, previous);
    previous = [id];
    return step;
  });
}

function makeStep(document: Document, sketch: Sketch, id: string, needs: readonly string[]): Step {
  const { address, kind, manage, project } = document;
  const scope = project === undefined ? {} : { project };
  const base = { id, address, kind, name: coreKind(kind).apiName(document), ...scope, needs };
  if (sketch.action === 'wait') return { ...base, timeoutMs: sketch.condition.timeoutMs, ...sketch };
  if (sketch.action === 'exec') return { ...base, timeoutMs: sketch.spec.timeout_ms, ...sketch };
  if (sketch.action !== 'rebuild') return { ...base, timeoutMs: manage.timeoutMs, ...sketch };
  const afterwards = makeSteps(document, sketch.afterwards, []);
  // The time of a stop, a creation, a deletion, and the steps in between.
  const timeoutMs = afterwards.reduce((sum, step) => sum + step.timeoutMs, 3 * manage.timeoutMs);
  return { ...base, timeoutMs, graceMs: cleanStopMs, ...sketch, afterwards };
}

function freeId(address: Address, action: string, used: Set<string>): string {
  let id = `${address}#${action}`;
  for (let count = 2; used.has(id); count += 1) id = `${address}#${action}-${count}`;
  used.add(id);
  return id;
}
