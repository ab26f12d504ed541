// Plans the steps for changed devices of a running container. Pure.
import type { ConfigMap, DeviceMap } from '../../../api/schema/common-schemas.ts';
import {
  changedProperties,
  effectOfDeviceChange,
  isAdjustable,
  isPresent,
  isRoot,
} from '../../../api/devices/index.ts';

export type DeviceStep =
  | { readonly kind: 'unplug'; readonly device: string }
  | { readonly kind: 'plug'; readonly device: string }
  /** The device stays plugged in; only its rates, filters or records change. */
  | { readonly kind: 'adjust'; readonly device: string }
  /** Impossible while the container runs: takes effect at its next start. */
  | { readonly kind: 'wait'; readonly device: string };

/** Removals come first: they free names, paths and ports. */
export function planDevices(before: DeviceMap, after: DeviceMap): readonly DeviceStep[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted();
  const steps = names.flatMap((name) => stepsOf(name, present(before[name]), present(after[name])));
  const rank = { unplug: 0, adjust: 1, plug: 2, wait: 3 } as const;
  return steps.toSorted((a, b) => rank[a.kind] - rank[b.kind]);
}

const present = (device: ConfigMap | undefined): ConfigMap | undefined => (isPresent(device) ? device : undefined);

function stepsOf(device: string, old: ConfigMap | undefined, next: ConfigMap | undefined): readonly DeviceStep[] {
  const effect = effectOfDeviceChange(old, next);
  if (effect === 'none') return [];
  // The pool limits its size; it has no separate mount.
  if ([old, next].some((one) => one !== undefined && isRoot(one))) return rootSteps(device, old, next, effect);
  if (effect !== 'live') return [{ kind: 'wait', device }];
  if (old === undefined) return [{ kind: 'plug', device }];
  if (next === undefined) return [{ kind: 'unplug', device }];
  if (isAdjustable(old, next)) return [{ kind: 'adjust', device }];
  return [
    { kind: 'unplug', device },
    { kind: 'plug', device },
  ];
}

function rootSteps(
  device: string,
  old: ConfigMap | undefined,
  next: ConfigMap | undefined,
  effect: string,
): readonly DeviceStep[] {
  if (effect !== 'live') return [{ kind: 'wait', device }];
  const changed = changedProperties(old ?? {}, next ?? {});
  return changed.some((name) => name.startsWith('limits.')) ? [{ kind: 'adjust', device }] : [];
}
