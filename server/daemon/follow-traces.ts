// Keeps the daemon's tracer in line with the server config, also when another member of the cluster changes it.
import type { LifecycleMetadata } from '../api/event.ts';
import { settingOf } from '../services/shared/settings.ts';
import type { TraceSettings } from '../traces/target.ts';
import type { Foundation } from './foundation.ts';

/** Resolves when traces are sent. Returns the function that ends it. */
export async function followTraces({ traces, records, events, isDryRun }: Foundation): Promise<() => void> {
  if (isDryRun) return () => {};
  const follow = (): Promise<void> => traces.follow(settingsOf(records));
  const unsubscribe = events.subscribe(new Set(['lifecycle']), ({ metadata }) => {
    if ((metadata as LifecycleMetadata).action === 'config-updated') void follow();
  });
  const unfollow = records.onShared((kind) => {
    if (kind === 'server') void follow();
  });
  await follow();
  return () => {
    unsubscribe();
    unfollow();
  };
}

function settingsOf(records: Foundation['records']): TraceSettings {
  const endpoint = settingOf(records, 'core.trace_endpoint');
  const ratio = settingOf(records, 'core.trace_sample_ratio');
  return { endpoint, ratio: ratio === '' ? undefined : Number(ratio) };
}
