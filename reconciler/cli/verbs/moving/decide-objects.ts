// Decides about objects whose whole content is text: certificates, projects, pools, networks and their ACLs, images, aliases, profiles, server config. Pure.
import { kindRow } from '../../../../server/api/kinds.ts';
import { splitList } from '../../../../server/api/network/network-values.ts';
import { lackOfExtension } from '../../../../server/api/server/capability.ts';
import { assertNever } from '../../../../server/lib/shared/assert-never.ts';
import type { Json, JsonObject } from '../../../core/documents/document.ts';
import { asText, mapOf, presentDevices, presentTexts, textOf } from '../../../core/documents/json-values.ts';
import { tableOf, type Live } from '../../../core/documents/observed.ts';
import { compareText } from '../../../core/text/listing-order.ts';
import { plainName } from '../../../core/text/scoped-name.ts';
import { fit } from './fit.ts';
import { onHostBridges, onParents } from './host-bridges.ts';
import type { Difference, Move, MovePlan, MoveRequest } from './moves.ts';
import { withoutUndefined } from '../../../../server/lib/shared/without-undefined.ts';

/** In the order of creation. */
const textKinds = [
  'certificate',
  'project',
  'storage_pool',
  'network_acl',
  'network',
  'image',
  'image_alias',
  'profile',
] as const;
type TextKind = (typeof textKinds)[number];

export function decideObjects(request: MoveRequest): MovePlan {
  const parts = textKinds.flatMap((kind) =>
    [...tableOf(request.source.world, kind)]
      .sort(([a], [b]) => compareText(a, b))
      .map(([key, live]) => decideObject(request, kind, key, live)),
  );
  const all = [...parts, decideServer(request)];
  return { moves: all.flatMap(({ moves }) => moves), differences: all.flatMap(({ differences }) => differences) };
}

const nothing: MovePlan = { moves: [], differences: [] };

function decideObject(request: MoveRequest, kind: TextKind, key: string, { object }: Live<object>): MovePlan {
  const live = object as JsonObject;
  const { target } = request;
  const id = `${kind}/${key}`;
  const left = (text: string): MovePlan => ({ moves: [], differences: [{ id, effect: 'left', text }] });
  if (kind === 'project' && key === 'default') return nothing;
  if (kind === 'network' && live['managed'] === false) return nothing;
  const there = tableOf(target, kind).get(key)?.object as JsonObject | undefined;
  const project = textOf(live['project']);
  const base = { id, name: plainName(key, project), ...withoutUndefined({ project }) };
  if (kind === 'image') return decideImage(live, there, base);
  const reason = staysBehind(request, kind, live);
  if (reason !== undefined && there === undefined) return left(reason);
  if (kind === 'network' && there?.['managed'] === false) return left(onHostBridges(base.name));
  const { values, differences } = fit(kind, id, base.name, bodyOf(kind, live, request), target);
  if (values === undefined) return { moves: [], differences };
  const isPermanent = kind === 'profile' && base.name === 'default';
  if (there !== undefined && !(isPermanent && isUntouched(there))) {
    // The target already has everything that the object declares.
    if (isWithin(values, there) || kind === 'certificate') return nothing;
    return left(
      `exists on the target with other values (${differing(values, there).join(', ')}) and stays as it is there: change one of them, or continue if that is right`,
    );
  }
  if (isPermanent && there !== undefined && isUntouched(live)) return nothing;
  const body = kind === 'certificate' ? { ...values, name: live['name'] ?? '' } : { name: base.name, ...values };
  const move: Move = { ...base, type: 'object', kind, action: isPermanent ? 'fill' : 'create', body };
  return { moves: [move], differences };
}

const isUntouched = (live: JsonObject): boolean =>
  Object.keys(mapOf(live['config'])).length + Object.keys(mapOf(live['devices'])).length === 0;

function decideImage(
  live: JsonObject,
  there: JsonObject | undefined,
  base: { readonly id: string; readonly name: string; readonly project?: string },
): MovePlan {
  // The target fetches a cached image again when it needs it.
  if (there !== undefined || live['cached'] === true) return nothing;
  if (live['type'] === 'virtual-machine')
    return { moves: [], differences: [{ id: base.id, effect: 'left', text: 'is an image of virtual machines' }] };
  return { moves: [{ ...base, type: 'image', isPublic: live['public'] === true }], differences: [] };
}

function staysBehind(request: MoveRequest, kind: TextKind, live: JsonObject): string | undefined {
  const { source, target } = request;
  if (kind === 'certificate' && live['type'] !== 'client' && target.server.isGantry === true)
    return `is trusted as ${asText(live['type'])}: gantryd trusts clients only, add it as one if it has to connect`;
  if (
    (kind === 'network' || kind === 'network_acl') &&
    live['project'] !== undefined &&
    target.server.isGantry === true
  )
    return `belongs to the project ${asText(live['project'])}: gantryd shares networks and their ACLs between projects, make it there under a name of its own`;
  if (kind === 'network_acl') return lackOfExtension(target.server.extensions, kindRow(kind).since ?? '');
  if (kind === 'network') return aclBehind(request, live);
  if (kind === 'image_alias' && source.world.images.get(aliasTarget(live))?.object.cached === true)
    return 'names a cached image, which is fetched again where it is needed';
  if (kind !== 'storage_pool') return undefined;
  const driver = asText(live['driver']);
  const origin = asText(mapOf(live['config'])['source']);
  const remedy = `make a pool ${asText(live['name'])} on the target first (any driver), then run this again`;
  const drivers = target.server.poolDrivers;
  if (drivers !== undefined && !drivers.includes(driver))
    return `has the driver ${driver}, which the target does not have (${drivers.join(', ')}): ${remedy}`;
  if (driver === 'cephfs') return `is ${origin} of a CephFS, which the target cannot share: ${remedy}`;
  // Folders may be below /dev too, as in /dev/shm.
  return driver !== 'dir' && origin.startsWith('/dev/')
    ? `is on ${origin}, which the target cannot share: ${remedy}`
    : undefined;
}

/** A missing ACL of the network, without which it would allow what the ACL denies. */
function aclBehind(request: MoveRequest, live: JsonObject): string | undefined {
  const project = textOf(live['project']);
  const behind = splitList(presentTexts(live['config'])['security.acls']).find((name) => {
    const key = project === undefined ? name : `${name}@${project}`;
    const acl = tableOf(request.source.world, 'network_acl').get(key);
    const moves = acl !== undefined && decideObject(request, 'network_acl', key, acl).moves.length > 0;
    return !moves && !tableOf(request.target, 'network_acl').has(key);
  });
  return behind === undefined
    ? undefined
    : `names the network ACL ${behind} in security.acls, which stays behind: without its rules the network would let through what they deny. Make the ACL on the target first, or take it out of security.acls`;
}

const aliasTarget = (live: JsonObject): string => {
  const project = textOf(live['project']);
  return project === undefined ? asText(live['target']) : `${asText(live['target'])}@${project}`;
};

/** Keys of a pool that describe the disks of one server. */
const placeKeys =
  /^(source|zfs\.pool_name|ceph\.osd\.pool_name|cephfs\.path|lvm\.vg_name|lvm\.thinpool_name|volatile\..*)$/;

function bodyOf(kind: TextKind, live: JsonObject, request: MoveRequest): JsonObject {
  const description: JsonObject =
    asText(live['description']) === '' ? {} : { description: asText(live['description']) };
  const config = Object.fromEntries(
    Object.entries(presentTexts(live['config'])).filter(
      ([key]) => !placeKeys.test(key) && !(kind === 'project' && key.startsWith('features.') && !known(request, key)),
    ),
  );
  switch (kind) {
    case 'certificate': {
      const projects = Array.isArray(live['projects']) ? (live['projects'] as readonly Json[]) : [];
      return {
        type: 'client',
        certificate: asText(live['certificate']),
        ...(live['restricted'] === true ? { restricted: true, projects } : {}),
      };
    }
    case 'storage_pool':
      return { ...description, driver: asText(live['driver']), config: withoutSize(live, config) };
    case 'network':
      return { ...description, type: asText(live['type']), config };
    case 'network_acl':
      return { ...description, config, ingress: live['ingress'] ?? [], egress: live['egress'] ?? [] };
    case 'image_alias':
      return { ...description, target: asText(live['target']) };
    case 'profile':
      return {
        ...description,
        config,
        // New containers get their nics from it, too.
        devices: onParents(mapOf(live['devices']), request.target) ?? presentDevices(live['devices']),
      };
    case 'project':
    case 'image':
      return { ...description, config };
    default:
      return assertNever(kind);
  }
}

/** A project feature that is off needs no support on the target. */
const known = ({ target, source }: MoveRequest, key: string): boolean =>
  target.projects.get('default')?.object.config[key] !== undefined ||
  source.world.projects.get('default')?.object.config[key] === undefined;

/** A pool of the driver dir has no size. */
const withoutSize = (live: JsonObject, config: Readonly<Record<string, string>>): JsonObject =>
  Object.fromEntries(Object.entries(config).filter(([key]) => key !== 'size' || live['driver'] !== 'dir'));

/** Server keys about its own address and identity. */
const ownKeys =
  /^(core\.(https_address|metrics_address|bgp_|dns_address|debug_address|trust_password)|cluster\.|storage\.|volatile\.|user\.gantry\.)/;

function decideServer({ source, target }: MoveRequest): MovePlan {
  const id = 'server_config/server';
  const there = target.server.config ?? {};
  const all = Object.entries(presentTexts(source.world.server.config));
  const carried = all.filter(([key]) => !ownKeys.test(key) && there[key] === undefined);
  const { values = {}, differences } = fit(
    'server_config',
    id,
    'server',
    { config: Object.fromEntries(carried) },
    target,
  );
  const config = presentTexts(values['config']);
  const notes: readonly Difference[] = all
    .filter(([key, value]) => key === 'core.https_address' && there[key] !== value)
    .map(([key, value]) => ({
      id,
      effect: 'changed',
      text: `${key} ${value} does not move: set it on the target when the source no longer listens there`,
    }));
  const move: Move = { id, name: 'server', type: 'object', kind: 'server_config', action: 'fill', body: { config } };
  return { moves: Object.keys(config).length === 0 ? [] : [move], differences: [...differences, ...notes] };
}

/** Whether `there` contains all of `values`. */
const isWithin = (values: JsonObject, there: JsonObject): boolean => differing(values, there).length === 0;

function differing(values: JsonObject, there: JsonObject, path = ''): readonly string[] {
  return Object.entries(values).flatMap(([key, value]): readonly string[] => {
    const other = there[key];
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      return differing(value as JsonObject, mapOf(other), `${path}${key}.`);
    return asText(value) === asText(other) ? [] : [`${path}${key}`];
  });
}
