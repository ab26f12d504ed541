// Steps before they are put into the plan: what to do to one object, one after the other, without ids and needs.
import type { Address, Document } from './document.ts';
import { coreKind } from './kinds/index.ts';
import type { CreateStep, DeleteStep, PowerStep, Step, UpdateStep, WaitStep } from './plan.ts';

type Own<T extends Step> = Omit<T, 'id' | 'address' | 'kind' | 'name' | 'needs' | 'timeoutMs'>;
export type Sketch = Own<CreateStep> | Own<UpdateStep> | Own<DeleteStep> | Own<PowerStep> | Own<WaitStep>;

const cleanStopMs = 30_000;

export const start: Sketch = { action: 'start', force: 'never', graceMs: 0 };
export const stop: Sketch = { action: 'stop', force: 'after-grace', graceMs: cleanStopMs };
export const restart: Sketch = { action: 'restart', force: 'after-grace', graceMs: cleanStopMs };
/** Before a delete there is nothing left to save. */
export const kill: Sketch = { action: 'stop', force: 'at-once', graceMs: 0 };

export const waits = (document: Document): readonly Sketch[] =>
  document.manage.wait.map((condition) => ({ action: 'wait', condition }));

export const deleting = (etag: string | undefined): Sketch => ({
  action: 'delete',
  ...(etag === undefined ? {} : { etag }),
});

/** The sketches as steps, each after the one before; the first after `needs`. */
export function makeSteps(document: Document, sketches: readonly Sketch[], needs: readonly string[]): readonly Step[] {
  const { address, kind, manage } = document;
  const used = new Set<string>();
  let previous = needs;
  return sketches.map((sketch): Step => {
    const id = freeId(address, sketch.action, used);
    const timeoutMs = sketch.action === 'wait' ? sketch.condition.timeoutMs : manage.timeoutMs;
    const step = { id, address, kind, name: coreKind(kind).apiName(document), needs: previous, timeoutMs, ...sketch };
    previous = [id];
    return step;
  });
}

function freeId(address: Address, action: string, used: Set<string>): string {
  let id = `${address}#${action}`;
  for (let count = 2; used.has(id); count += 1) id = `${address}#${action}-${count}`;
  used.add(id);
  return id;
}
