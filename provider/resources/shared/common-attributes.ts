// Attributes and checks that several resources share.
import { containerConfigKey, validateContainerConfig } from '../../../server/api/container/container-config.ts';
import { validateDevices } from '../../../server/api/devices/index.ts';
import { withoutDevicesOfLxd, withoutKeysOfLxd } from '../../../server/api/server/lxd-keys.ts';
import type { NameRule } from '../../../server/api/names.ts';
import type { Problem } from '../../../server/api/problem.ts';
import type { Link } from '../../connection/link.ts';
import { scopedAction, scopedData, scopedResource } from '../../connection/scope.ts';
import {
  integer,
  text,
  textMap,
  textMaps,
  type TextMap,
  type TextMaps,
  type Attributes,
} from '../../framework/attribute.ts';
import type { Action, AnyAction } from '../../framework/actions/action.ts';
import type { Diagnostic } from '../../framework/diagnostic.ts';
import { at, type Path } from '../../framework/path.ts';
import type { AnyDataSource, AnyResource, DataSource, Resource } from '../../framework/provider.ts';
import { wrongValue } from '../../framework/validate.ts';
import { inheritedKey } from './inherited.ts';
import { notedRestartKey } from './noted-restart.ts';
import { separateDevicesKey } from './separate-devices.ts';
import { present, sameMap, type MapRules } from './config-maps.ts';
import { writeOnlyKey } from '../../../server/client/facts/write-only-names.ts';

/** A resource on any server of the provider, in any project. */
export const gantryResource = <A extends Attributes>(definition: Resource<A, Link>): AnyResource<Link> =>
  scopedResource(definition, { inProjects: true });
/** A resource outside projects: it belongs to the server as a whole. */
export const serverResource = <A extends Attributes>(definition: Resource<A, Link>): AnyResource<Link> =>
  scopedResource(definition, { inProjects: false });

export const gantryAction = <A extends Attributes>(definition: Action<A, Link>): AnyAction<Link> =>
  scopedAction(definition);

export const gantryData = <A extends Attributes>(definition: DataSource<A, Link>): AnyDataSource<Link> =>
  scopedData(definition, { inProjects: true });
export const serverWideData = <A extends Attributes>(definition: DataSource<A, Link>): AnyDataSource<Link> =>
  scopedData(definition, { inProjects: false });

/** The name of an object that is renamed in place. */
export const nameAttribute = (doc: string, rule: NameRule) =>
  text({ doc: `${doc} Another name renames the object.`, required: true, check: rule });

/** The name of an object that the API cannot rename. */
export const fixedNameAttribute = (doc: string, rule: NameRule) =>
  text({ doc: `${doc} Another name replaces the object.`, required: true, replace: true, check: rule });

/** The check of a text that has no empty value. */
export const notEmpty = (value: string): string | undefined => (value === '' ? 'must not be empty' : undefined);

export const descriptionAttribute = text({ doc: 'Free text.', default: '' });

/** Terraform hides a value of `config` that comes from a sensitive variable only there, so that a copy of the config has to be sensitive. */
export const effectiveConfigAttribute = textMap({
  doc: 'The whole config as the server has it. Sensitive, because it repeats `config`.',
  computed: true,
  sensitive: true,
});

/** Turns the dotted paths of problems of config and devices into steps below the attribute. */
const stepsIn = (
  problems: readonly Problem[],
  prefix: 'config' | 'devices',
  devices: readonly string[] = [],
): readonly { path: Path; message: string }[] =>
  problems.map(({ path, message }) => ({ path: pathOf(path.slice(prefix.length + 1), devices), message }));

/** Problems of `config` as diagnostics of a whole configuration. */
export const problemsInConfig = (problems: readonly Problem[]): readonly Diagnostic[] =>
  stepsIn(problems, 'config').map(({ path, message }) => wrongValue([...at('config'), ...path], message));

/** `config.limits.memory` has one key; `devices.eth0.parent` has two. A device may have dots in its name, too. */
function pathOf(rest: string, devices: readonly string[]): Path {
  const name = devices.filter((each) => rest.startsWith(`${each}.`)).toSorted((a, b) => b.length - a.length)[0];
  return name === undefined || devices.includes(rest)
    ? [{ key: rest }]
    : [{ key: name }, { key: rest.slice(name.length + 1) }];
}

/** Keys in which this provider records the parts of a container that gantry_container leaves alone, and a restart that is pending. */
const reservedKeys: ReadonlySet<string> = new Set([separateDevicesKey, inheritedKey, writeOnlyKey, notedRestartKey]);

export const isContainerComputed = (key: string): boolean =>
  containerConfigKey(key)?.fact.computed === true ||
  key.startsWith('volatile.') ||
  key.startsWith('image.') ||
  reservedKeys.has(key);
export const containerRules: MapRules = { isComputed: isContainerComputed };

const containerConfigCheck =
  (profile: boolean) =>
  (config: TextMap): readonly { readonly path: Path; readonly message: string }[] => {
    const [reserved] = Object.keys(config).filter((key) => reservedKeys.has(key));
    return reserved !== undefined
      ? [{ path: [{ key: reserved }], message: 'is reserved for notes of this provider: leave it out' }]
      : stepsIn(withoutKeysOfLxd('container', validateContainerConfig(config, { profile })), 'config');
  };

export const containerConfigAttribute = (profile: boolean) =>
  textMap({
    doc: `Config keys, without those that the server manages (\`volatile.*\`${profile ? '' : ', `image.*`'}).`,
    default: {},
    check: containerConfigCheck(profile),
    same: (before: TextMap, after: TextMap) => sameMap(before, after, containerRules),
  });

export const writeOnlyConfigAttributes = {
  // Not marked as sensitive: Terraform 1.11 then sees a change at every refresh, and it never shows a write-only value anyway.
  config_wo: textMap({
    doc: 'More config keys, with values that are never stored: raise `config_wo_version` to write them again. `config` and `expanded_config` leave these keys out, and changes of them by others are not detected.',
    writeOnly: true,
    check: containerConfigCheck(false),
  }),
  config_wo_version: integer({ doc: 'Any number; a change writes `config_wo` again.' }),
} as const;

export const devicesAttribute = textMaps({
  doc: 'Devices by name, each with its `type` and the properties of that type.',
  default: {},
  check: (devices: TextMaps) =>
    stepsIn(withoutDevicesOfLxd(devices, validateDevices(devices)), 'devices', Object.keys(devices)),
  same: (before: TextMaps, after: TextMaps) => {
    const names = Object.keys(before);
    return (
      names.length === Object.keys(after).length &&
      names.every((name) => after[name] !== undefined && sameMap(before[name] ?? {}, after[name]))
    );
  },
});

/** A map of the server as computed attributes show it. */
export const shownMap = (map: TextMap): TextMap => present(map);
export const shownMaps = (maps: TextMaps): TextMaps =>
  Object.fromEntries(Object.entries(maps).map(([name, map]) => [name, present(map)]));
