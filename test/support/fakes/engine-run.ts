// Plans for a server in memory, and their runs by the engine.
import { expect } from 'vitest';
import { planChanges } from '../../../reconciler/core/decide/plan-changes.ts';
import type { Document } from '../../../reconciler/core/documents/document.ts';
import type { Plan } from '../../../reconciler/core/plan/plan.ts';
import type { EngineEvent } from '../../../reconciler/engine/steps/events.ts';
import { execute, type ExecuteDeps } from '../../../reconciler/engine/execute.ts';
import type { RunResult } from '../../../reconciler/engine/run-result.ts';
import { observe } from '../../../reconciler/engine/observe/observe.ts';
import { loadManifests } from '../../../reconciler/manifest/load.ts';
import { FakeWorld } from './client.ts';

export async function documents(text: string): Promise<readonly Document[]> {
  const loaded = await loadManifests({ paths: ['-'], stdin: text });
  expect(loaded.diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  return loaded.documents;
}

export async function planFor(world: FakeWorld, text: string): Promise<Plan> {
  const plan = planChanges({ documents: await documents(text), observed: await observe(world.client) });
  expect(plan.diagnostics.filter(({ severity }) => severity === 'error')).toEqual([]);
  return plan;
}

export interface Run {
  readonly result: RunResult;
  readonly events: readonly EngineEvent[];
}
export async function run(
  world: FakeWorld,
  plan: Plan,
  deps: Partial<ExecuteDeps> = {},
  signal?: AbortSignal,
): Promise<Run> {
  const events: EngineEvent[] = [];
  const client = world.client;
  const result = await execute(
    plan,
    { client, pause: async () => {}, ...deps, emit: (event) => events.push(event) },
    signal,
  );
  return { result, events };
}

export async function applied(text: string): Promise<FakeWorld> {
  const world = new FakeWorld();
  const { result } = await run(world, await planFor(world, text));
  expect(result.failures).toEqual([]);
  world.changes.length = 0;
  return world;
}
