// Takes a missing declared snapshot, or sets expiry and description of an existing one. Deletes none.
import type { Snapshot, SnapshotCreate, SnapshotPut } from '../../../server/api/container/snapshot.ts';
import type { SnapshotStep } from '../../core/plan/plan.ts';
import { pathOf } from '../../../server/client/kind-paths.ts';
import { sendAndWait, type Note, type StepContext } from './context.ts';
import { mayExist } from './existing.ts';

export async function takeSnapshot(context: StepContext, step: SnapshotStep, signal: AbortSignal): Promise<Note> {
  const { spec, snapshot, isNew, target } = step;
  const query = { target };
  const { http } = context.client;
  const path = `${pathOf(step.kind, step.name)}/snapshots`;
  const declared: SnapshotPut = {
    ...(spec.expires_at === undefined ? {} : { expires_at: spec.expires_at }),
    ...(spec.description === undefined ? {} : { description: spec.description }),
  };
  const one = `${path}/${encodeURIComponent(snapshot)}`;
  if (!isNew) {
    // A PUT replaces all values: those that the document leaves out keep their live values.
    const { metadata } = await http.send<Partial<Snapshot>>({ method: 'GET', path: one, query }, signal);
    const json: SnapshotPut = { ...valuesOf(metadata), ...declared };
    await sendAndWait(context, () => http.send<unknown>({ method: 'PUT', path: one, query, json }, signal), signal);
    return undefined;
  }
  const json: SnapshotCreate = { name: snapshot, ...(spec.stateful === true ? { stateful: true } : {}), ...declared };
  try {
    await sendAndWait(context, () => http.send<unknown>({ method: 'POST', path, query, json }, signal), signal);
    return undefined;
  } catch (error) {
    signal.throwIfAborted();
    if (!mayExist(error)) throw error;
    // An earlier run created it, or the answer was lost.
    const found = await http.send<unknown>({ method: 'GET', path: one, query }, signal).catch(() => undefined);
    if (found === undefined) throw error;
    return 'it already existed';
  }
}

function valuesOf({ description = '', expires_at: until = '' }: Partial<Snapshot>): SnapshotPut {
  // Servers encode no expiry as a time in the year 1.
  return { description, ...(Date.parse(until) > 0 ? { expires_at: until } : {}) };
}
