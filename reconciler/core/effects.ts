// The one place where the reconciler asks the API's tables what a change costs and which config is wrong.
import {
  containerConfigKey,
  effectOfContainerKey,
  validateContainerConfig,
} from '../../server/api/container-config.ts';
import type { Effect } from '../../server/api/field.ts';
import { findNetworkConfigKey, networkConfigKeys, networkValueRule } from '../../server/api/network-config.ts';
import { hint } from '../../server/api/nearest.ts';
import type { Problem } from '../../server/api/problem.ts';

const weight: Readonly<Record<Effect, number>> = { live: 0, restart: 1, recreate: 2 };

export const worseEffect = (a: Effect, b: Effect): Effect => (weight[a] >= weight[b] ? a : b);
export const worstEffect = (effects: Iterable<Effect>): Effect => {
  let worst: Effect = 'live';
  for (const effect of effects) worst = worseEffect(worst, effect);
  return worst;
};

export function configEffect(key: string): Effect {
  const effect = effectOfContainerKey(key);
  return effect === 'none' ? 'live' : effect;
}

export const isComputedConfig = (key: string): boolean => containerConfigKey(key)?.fact.computed === true;

/** A root disk cannot move to another pool in place (real-world 2.2). */
export function deviceEffect(device: Readonly<Record<string, unknown>>, key: string): Effect {
  const isRoot = device['type'] === 'disk' && device['path'] === '/';
  return isRoot && key === 'pool' ? 'recreate' : 'live';
}

export const configProblems = (config: Readonly<Record<string, string>>, profile: boolean): readonly Problem[] =>
  validateContainerConfig(config, { profile });

export const deviceProblems = (
  _devices: Readonly<Record<string, Readonly<Record<string, string>>>>,
): readonly Problem[] => [];

export function networkProblems(config: Readonly<Record<string, string>>): readonly Problem[] {
  return Object.entries(config).flatMap(([key, value]) => {
    const known = findNetworkConfigKey(key);
    const message =
      known === undefined
        ? `unknown key ${key}${hint(
            key,
            networkConfigKeys.map((entry) => entry.key),
          )}`
        : networkValueRule(known.type, value);
    return message === undefined ? [] : [{ path: `config.${key}`, message }];
  });
}

export const poolProblems = (_driver: string, _config: Readonly<Record<string, string>>): readonly Problem[] => [];
