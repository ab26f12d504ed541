// Decides about containers: which move, in which state, with which devices. Pure.
import { isNic } from '../../../../server/api/devices/index.ts';
import type { Json, JsonObject } from '../../../core/documents/document.ts';
import { asText, mapOf, presentDevices, presentTexts, textOf, textsOf } from '../../../core/documents/json-values.ts';
import { scopesOf } from '../../../core/live/project-scope.ts';
import { compareText } from '../../../core/text/listing-order.ts';
import { plainName } from '../../../core/text/scoped-name.ts';
import { fit } from './fit.ts';
import { onParents } from './host-bridges.ts';
import type { ContainerMove, Devices, Difference, MoveRequest } from './moves.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

interface Decided {
  readonly moves: readonly ContainerMove[];
  readonly differences: readonly Difference[];
}

/** `behind`: ids of objects that stay on the source. */
export function decideContainers(request: MoveRequest, behind: ReadonlySet<string>): Decided {
  const parts = [...request.source.world.containers]
    .sort(([a], [b]) => compareText(a, b))
    .map(([key, { object }]) => decideContainer(request, key, object as unknown as JsonObject, behind));
  return { moves: parts.flatMap(({ moves }) => moves), differences: parts.flatMap(({ differences }) => differences) };
}

function decideContainer(request: MoveRequest, key: string, live: JsonObject, behind: ReadonlySet<string>): Decided {
  const { target, begun, architectures = [] } = request;
  const id = `container/${key}`;
  const left = (text: string): Decided => ({ moves: [], differences: [{ id, effect: 'left', text }] });
  if (target.containers.has(key) && !begun.has(id))
    return left('exists on the target already and was not brought by this move: delete or rename one of them');
  const architecture = asText(live['architecture']);
  if (architecture !== '' && architectures.length > 0 && !architectures.includes(architecture))
    return left(
      `has the architecture ${architecture}, which the target's host cannot run (${architectures.join(', ')}): leave it on the source, or name a host that can with --host`,
    );
  const isRunning = live['status'] !== 'Stopped';
  if (isRunning && live['ephemeral'] === true)
    return left(
      'is ephemeral, so stopping it for the move would delete it: make it persistent first (lxc config edit: ephemeral: false)',
    );
  const project = textOf(live['project']);
  const missing = needsOf(request, live, project).find((need) => behind.has(need) && !isThere(request, need));
  if (missing !== undefined) return left(`needs ${missing}, which stays behind`);
  const devices = devicesOf(request, live);
  const config = Object.fromEntries(
    Object.entries(presentTexts(live['config'])).filter(([name]) => !/^(volatile|image)\./.test(name)),
  );
  const fitted = fit('container', id, plainName(key, project), { config, devices }, target);
  if (fitted.values === undefined) return { moves: [], differences: fitted.differences };
  const kept = presentTexts(fitted.values['config']);
  const { keyOf } = scopesOf(request.source.world);
  const volumes = volumesOf(live).map((name) => `storage_volume/${keyOf('storage_volume', name, project)}`);
  const move: ContainerMove = {
    id,
    type: 'container',
    name: plainName(key, project),
    ...withoutUndefined({ project }),
    isRunning,
    stopsFirst: isRunning && volumes.length > 0,
    volumes,
    devices: presentDevices(fitted.values['devices']),
    drops: Object.keys(config).filter((name) => kept[name] === undefined),
  };
  const restarts: readonly Difference[] =
    presentTexts(live['config'])['boot.autostart'] === 'true'
      ? [
          {
            id,
            effect: 'changed',
            text: 'boot.autostart is true: the source would start it again when it starts, so set it to false there after the move',
          },
        ]
      : [];
  return { moves: [move], differences: [...fitted.differences, ...restarts] };
}

/** `POOL/VOLUME` of the custom volumes that it mounts. */
export const volumesOf = (live: JsonObject): readonly string[] =>
  Object.values(presentDevices(live['expanded_devices'])).flatMap((device) =>
    device['type'] === 'disk' &&
    device['pool'] !== undefined &&
    device['path'] !== '/' &&
    device['source'] !== undefined
      ? [`${device['pool']}/${device['source']}`]
      : [],
  );

/** Ids of the objects that its creation needs. */
function needsOf({ source }: MoveRequest, live: JsonObject, project: string | undefined): readonly string[] {
  const { keyOf } = scopesOf(source.world);
  const devices = Object.values(presentDevices(live['expanded_devices']));
  return [
    ...(project === undefined ? [] : [`project/${project}`]),
    ...textsOf(live['profiles'] as Json).map((name) => `profile/${keyOf('profile', name, project)}`),
    ...devices.flatMap(({ type, pool, network, parent }) => [
      ...(type === 'disk' && pool !== undefined ? [`storage_pool/${pool}`] : []),
      ...(type === 'nic'
        ? [network, parent].flatMap((one) => (one === undefined ? [] : [`network/${keyOf('network', one, project)}`]))
        : []),
    ]),
  ];
}

/** An object of that name on the target is enough: the plan already lists its differences. */
function isThere({ target }: MoveRequest, need: string): boolean {
  const slash = need.indexOf('/');
  const [kind, name] = [need.slice(0, slash), need.slice(slash + 1)];
  const tables: Readonly<Record<string, ReadonlyMap<string, unknown>>> = {
    project: target.projects,
    profile: target.profiles,
    storage_pool: target.pools,
    network: target.networks,
  };
  return tables[kind]?.has(name) === true;
}

/** The container's own devices, plus nics that have to differ from their profiles. */
function devicesOf(request: MoveRequest, live: JsonObject): Devices {
  const own = presentDevices(live['devices']);
  const all = mapOf(live['expanded_devices']);
  const pinned = request.keepsAddresses ? withLeases(request, live, presentDevices(all)) : {};
  const parents = onParents(all, request.target) ?? {};
  const nics = Object.entries(parents).filter(([, device]) => isNic(device) && device['parent'] !== undefined);
  const changed = nics.filter(([name]) => asText(mapOf(all[name])['network']) !== '');
  return { ...own, ...pinned, ...Object.fromEntries(changed) };
}

/** Turns the leased address of each nic into a static one. */
function withLeases({ source }: MoveRequest, live: JsonObject, devices: Devices): Devices {
  const config = presentTexts(live['config']);
  const found = Object.entries(devices).flatMap(([name, device]) => {
    const hwaddr = device['hwaddr'] ?? config[`volatile.${name}.hwaddr`];
    // The gateway's lease has no hardware address.
    const address = hwaddr === undefined ? undefined : source.leases.get(hwaddr);
    const isFree = device['type'] === 'nic' && device['network'] !== undefined && device['ipv4.address'] === undefined;
    return isFree && address !== undefined ? [[name, { ...device, 'ipv4.address': address }] as const] : [];
  });
  return Object.fromEntries(found);
}
