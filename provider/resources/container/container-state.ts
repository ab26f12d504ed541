// Converts containers between server and state: the state after a read, the body of a write, the effect of a change. Pure.
import type { Container, ContainerSource } from '../../../server/api/container/container.ts';
import { interfacesOf, isUp, liveFactsOf } from '../../../server/client/facts/containers.ts';
import { withoutWriteOnly, writeOnlyNames } from '../../../server/client/facts/write-only-names.ts';
import { effectOfContainerKey } from '../../../server/api/container/container-config.ts';
import { effectOfDeviceChange, isRoot } from '../../../server/api/devices/index.ts';
import { sameText } from '../../../server/api/text/equality.ts';
import type { Effect } from '../../../server/api/schema/field.ts';
import type { SeenContainer } from '../../connection/reader.ts';
import type { TextMap, TextMaps } from '../../framework/attribute.ts';
import { isSameArchitecture, type ContainerState, type Source } from './container-attributes.ts';
import { readExecs } from './container-commands.ts';
import {
  inheritedBy,
  inheritedDevices,
  stillInherited,
  withInherited,
  withoutInherited,
  type Inherited,
} from '../shared/inherited.ts';
import { withWriteOnly } from '../shared/write-only-config.ts';
import { withNotedRestart } from '../shared/noted-restart.ts';
import { devicesApart, devicesOfItsOwn } from '../shared/separate-devices.ts';
import { present, readMap, readMaps, nonEmpty, writtenMap, writtenMaps, type MapRules } from '../shared/config-maps.ts';
import { copiedFrom } from './copy-source.ts';
import { isWaiting } from '../shared/placement.ts';
import { containerRules, isContainerComputed, shownMaps } from '../shared/common-attributes.ts';

const policyKeys = {
  schedule: 'snapshots.schedule',
  pattern: 'snapshots.pattern',
  expiry: 'snapshots.expiry',
  stopped: 'snapshots.schedule.stopped',
} as const;
const policyNames: ReadonlySet<string> = new Set(Object.values(policyKeys));

export const isFrozen = (status: string): boolean => status === 'Frozen';

/** Takes everything from the server. Attributes that only the configuration knows stay as they were. */
export function readContainer(live: SeenContainer, state: ContainerState) {
  const own = withoutInherited(live);
  const secret = writeOnlyNames(live.config);
  const config = ownConfig(withoutWriteOnly(own.config, secret), state);
  return {
    description: live.description,
    architecture: spelledAs(state.architecture, live.architecture),
    profiles: live.profiles ?? [],
    ephemeral: live.ephemeral,
    ...config,
    devices: readMaps(devicesOfItsOwn(live.config, own.devices ?? {}), state.devices),
    // Frozen is neither running nor stopped, so it always shows as a difference.
    // A container that waits for the end of an evacuation starts by itself then.
    running: (isUp(live.status) && !isFrozen(live.status)) || (isWaiting(live.config) && state.running === true),
    exec: readExecs(state.exec),
    ...liveFactsOf(live),
    interfaces: interfacesOf(live.state),
    expanded_config: withoutWriteOnly(withoutComputed(live.expanded_config ?? {}), secret),
    expanded_devices: shownMaps(devicesOfItsOwn(live.config, live.expanded_devices ?? {})),
    ...(state.status === null ? importedPart(live, state) : {}),
  };
}

/** The written architecture while it means the live one. */
const spelledAs = (written: string | null, live: string): string =>
  written !== null && isSameArchitecture(written, live) ? written : live;

/** Fills the state of an imported container with defaults of provider options, and with the probable source. */
function importedPart(live: Container, state: ContainerState): Partial<ContainerState> {
  const base = live.config['volatile.base_image'] ?? '';
  const source = state.source ?? (base === '' ? null : imageSource({ fingerprint: base }));
  return { source, allow_restart: state.allow_restart ?? true, stop_timeout: state.stop_timeout ?? 30 };
}

const emptySource: Source = {
  type: 'none',
  alias: null,
  fingerprint: null,
  server: null,
  protocol: null,
  certificate: null,
  mode: null,
  source: null,
  snapshot: null,
  container_only: null,
  file: null,
  allow_host_access: null,
  sha256: null,
};

/** The file may be gone: the next plan adds its hash. */
export const backupSource = (file: string): Source => ({ ...emptySource, type: 'backup', file });

export const copySource = (container: string): Source => ({ ...emptySource, type: 'copy', source: container });

const imageSource = (image: Partial<Source>): Source => ({ ...emptySource, type: 'image', ...image });

/** Parses `debian/12`, a fingerprint, or `https://host:8443/debian/12`; undefined when the text names no image. */
export function parseImageReference(text: string): Source | undefined {
  const remote = /^(https:\/\/[^/\s]+)\/(\S+)$/.exec(text);
  const image = remote?.[2] ?? text;
  if (image === '' || /\s/.test(image) || (remote === null && text.includes('://'))) return undefined;
  const named = /^[0-9a-f]{12,64}$/.test(image) ? { fingerprint: image } : { alias: image };
  const from = remote === null ? {} : { server: remote[1] ?? '', protocol: 'lxd', mode: 'pull' };
  return imageSource({ ...named, ...from });
}

export const withoutComputed = (config: TextMap): TextMap =>
  Object.fromEntries(Object.entries(config).filter(([key, value]) => value !== '' && !isContainerComputed(key)));

/** `config`, with the keys of the snapshot policy separate when the state has them separate. */
function ownConfig(live: TextMap, state: ContainerState): Pick<ContainerState, 'config' | 'snapshots'> {
  if (state.snapshots === null) return { config: readMap(live, state.config, containerRules), snapshots: null };
  const rest = Object.fromEntries(Object.entries(live).filter(([key]) => !policyNames.has(key)));
  const text = (name: 'schedule' | 'pattern' | 'expiry'): string | null =>
    kept(state.snapshots?.[name] ?? null, live[policyKeys[name]]);
  const stopped = live[policyKeys.stopped];
  return {
    config: readMap(rest, state.config, containerRules),
    snapshots: {
      schedule: text('schedule'),
      pattern: text('pattern'),
      expiry: text('expiry'),
      stopped:
        stopped === undefined || stopped === ''
          ? state.snapshots.stopped === false
            ? false
            : null
          : /^(true|1|yes|on)$/i.test(stopped),
    },
  };
}

const kept = (written: string | null, live: string | undefined): string | null =>
  live === undefined || live === '' ? (written === '' ? '' : null) : live;

/** The configured keys, including those of the snapshot policy. */
export function wholeConfig(state: Pick<ContainerState, 'config' | 'snapshots'>): TextMap | null {
  const { snapshots, config } = state;
  if (snapshots === null) return config;
  const policy = Object.entries(policyKeys).flatMap(([name, key]): [string, string][] => {
    const value = snapshots[name as keyof typeof policyKeys];
    return value === null ? [] : [[key, String(value)]];
  });
  return { ...config, ...Object.fromEntries(policy) };
}

/** Parts of a container that the configuration does not show. */
export interface Hidden {
  /** Default: the names recorded on the container. */
  readonly inherited?: Inherited;
  /** The values of `config_wo` to write; absent: keeps those on the server. */
  readonly secret?: TextMap | undefined;
}

/** The body of a write, without a noted restart: the caller knows whether one is pending after the write. */
export function putContainer(planned: ContainerState, prior: ContainerState, live: Container, hidden: Hidden = {}) {
  const { inherited = inheritedBy(live.config), secret } = hidden;
  const declared = { ...wholeConfig(planned), ...secret };
  const kept = stillInherited(inherited, { config: declared, devices: planned.devices });
  const noted = writeOnlyNames(live.config);
  const names = secret === undefined ? noted.filter((key) => !Object.hasOwn(declared, key)) : Object.keys(secret);
  const stays = new Set([...kept.config, ...(secret === undefined ? names : [])]);
  const rules: MapRules = { isComputed: (key) => isContainerComputed(key) || stays.has(key) };
  const config = writtenMap(live.config, declared, wholeConfig(prior), rules);
  return {
    architecture: spelledAs(live.architecture, planned.architecture ?? live.architecture),
    config: withNotedRestart(withWriteOnly(withInherited(config, kept), names), undefined),
    devices: { ...devicesApart(live), ...inheritedDevices(live, kept), ...writtenMaps(planned.devices) },
    ephemeral: planned.ephemeral ?? false,
    profiles: [...(planned.profiles ?? live.profiles)],
    description: planned.description ?? '',
  };
}

/** The body of a write that changes nothing. */
export const unchangedBody = ({ architecture, config, devices, ephemeral, profiles, description }: Container) => ({
  architecture,
  config,
  devices: devices ?? {},
  ephemeral,
  profiles: [...profiles],
  description,
});

/** The config keys that an instance type sets. */
const sizeKeys = ['limits.cpu', 'limits.cpu.allowance', 'limits.memory'];

/** What the server adds to a new container, so that its resource neither shows nor removes it. */
const addedBy = (instanceType: string | null, declared: TextMap): Inherited => ({
  config: nonEmpty(instanceType) === null ? [] : sizeKeys.filter((key) => !Object.hasOwn(declared, key)),
  devices: [],
});

export function createBody(planned: ContainerState, secret: TextMap) {
  const { name, description, architecture, profiles, ephemeral, instance_type: instanceType } = planned;
  const config = { ...wholeConfig(planned), ...secret };
  return {
    name,
    description: description ?? '',
    ...(architecture === null ? {} : { architecture }),
    ...(profiles === null ? {} : { profiles: [...profiles] }),
    ephemeral: ephemeral ?? false,
    config: withWriteOnly(withInherited(present(config), addedBy(instanceType, config)), Object.keys(secret)),
    devices: writtenMaps(planned.devices),
    ...(instanceType === null ? {} : { instance_type: instanceType }),
    source: sourceBody(planned.source),
  };
}

function sourceBody(source: Source | null): ContainerSource {
  if (source === null) return { type: 'none' };
  const wanted = { ...source, ...(source.type === 'copy' ? { source: copiedFrom(source), snapshot: null } : {}) };
  const given = Object.entries(wanted).filter(([, value]) => value !== null && value !== '');
  const mode = nonEmpty(source.mode) === null && nonEmpty(source.server) !== null ? { mode: 'pull' } : {};
  return { ...(Object.fromEntries(given) as unknown as ContainerSource), ...mode };
}

export interface Cost {
  readonly effect: Effect;
  /** The cause of the effect: `config["limits.kernel.nofile"]`. */
  readonly causes: readonly string[];
}

const weight: Readonly<Record<Effect | 'none', number>> = { none: 0, live: 0, restart: 1, recreate: 2 };

/** The effect on a running container of a change from one set of config and devices to another. */
export function costOf(
  before: { readonly config: TextMap; readonly devices: TextMaps },
  after: { readonly config: TextMap; readonly devices: TextMaps },
): Cost {
  const found: { readonly effect: Effect | 'none'; readonly cause: string }[] = [];
  for (const key of namesOf(before.config, after.config)) {
    if (sameText(key, before.config[key] ?? '', after.config[key] ?? '')) continue;
    found.push({ effect: effectOfContainerKey(key), cause: `config[${JSON.stringify(key)}]` });
  }
  for (const name of namesOf(before.devices, after.devices)) {
    const [old, next] = [before.devices[name], after.devices[name]];
    // An added or removed root disk has its counterpart in a profile: the server knows whether it moves.
    const isRootSwap = (old === undefined || next === undefined) && isRoot(old ?? next ?? {});
    if (!isRootSwap) found.push({ effect: effectOfDeviceChange(old, next), cause: `devices[${JSON.stringify(name)}]` });
  }
  const worst = Math.max(0, ...found.map(({ effect }) => weight[effect]));
  const effect: Effect = worst === 2 ? 'recreate' : worst === 1 ? 'restart' : 'live';
  return {
    effect,
    causes: found.filter((each) => weight[each.effect] === worst && worst > 0).map(({ cause }) => cause),
  };
}

const namesOf = (a: object, b: object): readonly string[] => [...new Set([...Object.keys(a), ...Object.keys(b)])];

/** Leaves out devices that are separate resources: those restart nothing. */
export const expanded = (live: Container): { readonly config: TextMap; readonly devices: TextMaps } => ({
  config: withoutComputed(live.expanded_config ?? {}),
  devices: devicesOfItsOwn(live.config, live.expanded_devices ?? {}),
});
