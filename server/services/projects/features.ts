// Checks a project's config: keys, values, and whether this server has the features. Pure.
import { projectConfigKeys, projectConfigProblems } from '../../api/project/project-config.ts';
import type { Problem } from '../../api/problem.ts';
import type { ConfigMap } from '../../api/schema/common-schemas.ts';
import { isTrue } from '../../api/text/value-checks.ts';

export const featureKeys = Object.keys(projectConfigKeys).filter((key) => key.startsWith('features.'));

/** A new project has its own objects of these kinds unless its creator disables that. */
const ownByDefault = ['features.images', 'features.profiles', 'features.storage.volumes'];

/** Other projects share the objects of the project `default`: it has all features. */
export const defaultConfig: ConfigMap = Object.fromEntries(
  [...ownByDefault, 'features.networks'].map((key) => [key, 'true']),
);

export const withDefaults = (config: ConfigMap): Record<string, string> => ({
  ...Object.fromEntries(ownByDefault.map((key) => [key, 'true'])),
  ...config,
});

/** Why this server lacks the feature. Buckets are accepted without effect: LXD sets the key by itself. */
const unavailable: Readonly<Record<string, string>> = {
  'features.networks': 'must be false: all projects share the networks of this server',
  'features.networks.zones': 'must be false: this server has no DNS zones',
};

/** Entries unchanged from `previous` pass. */
export function configProblems(config: ConfigMap, previous: ConfigMap = {}): readonly Problem[] {
  const changed = Object.fromEntries(Object.entries(config).filter(([key, value]) => previous[key] !== value));
  const refused = Object.entries(unavailable).flatMap(([key, message]): readonly Problem[] =>
    isTrue(changed[key]) ? [{ path: `config.${key}`, message }] : [],
  );
  return [...projectConfigProblems(changed), ...refused];
}

export const changedFeatures = (before: ConfigMap, after: ConfigMap): readonly string[] =>
  featureKeys.filter((key) => isTrue(before[key]) !== isTrue(after[key]));
