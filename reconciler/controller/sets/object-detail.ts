// One object with its desired and live values, secrets masked.
import type { Document, Json, JsonObject } from '../../core/documents/document.ts';
import { textOf } from '../../core/documents/json-values.ts';
import { hidden, redact } from '../../core/documents/secret.ts';
import type { Change } from '../../core/documents/change.ts';
import type { ResourceChange } from '../../core/plan/plan.ts';
import { pathsText } from '../decide/suspended-drift.ts';
import { ControllerError } from '../controller.ts';
import type { ObjectChange, ObjectDetail } from '../contract/index.ts';
import type { ManagedSet } from './managed-set.ts';
import type { SetOnHost } from './on-host/set-on-host.ts';
import { ofObject } from '../decide/suspensions.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

const maxChanges = 50;

export function objectDetail(set: ManagedSet, host: SetOnHost, address: string): ObjectDetail {
  const summary = host.objects.get(address);
  const change = host.made?.plan.changes.find((one) => one.address === address);
  if (summary === undefined || change === undefined)
    throw new ControllerError('not-found', `the set ${set.config.name} has no object ${address} on ${host.name}`);
  const document = host.target?.loaded.loaded.documents.find((one) => one.address === address);
  const history = historyOf(set, host.name, address);
  return {
    summary,
    ...comparison(document, change.live, change),
    suspensions: [...ofObject(set.suspensions, host.name, address)],
    history,
    // Older changes were dropped from the history, unless the first known one created the object.
    ...(history.at(-1)?.action === 'create' ? {} : { isHistoryCut: true }),
  };
}

/** What the host computes from the object and its profiles: it repeats secrets of both at other paths. */
const merged: ReadonlySet<string> = new Set(['expanded_config', 'expanded_devices']);

/** Both values with secrets masked, and what differs. */
export function comparison(
  document: Document | undefined,
  live: object | undefined,
  change: Pick<ResourceChange, 'changes' | 'ignored' | 'secrets' | 'power'> | undefined,
): Pick<ObjectDetail, 'desired' | 'live' | 'differences'> {
  const secrets = [...(document?.secrets ?? []), ...(change?.secrets ?? [])];
  const masked = (value: object): Record<string, unknown> =>
    redact(value as JsonObject, [], secrets) as Record<string, unknown>;
  return {
    ...(document === undefined ? {} : { desired: masked(document.values) }),
    ...(live === undefined ? {} : { live: masked(withoutMerged(live)) }),
    differences: [
      ...powerDifference(change?.power, live),
      ...[...(change?.changes ?? []), ...(change?.ignored ?? [])].map(differenceOf),
    ],
  };
}

/** A container that should run and does not, or the other way round, differs in no field. */
function powerDifference(power: ResourceChange['power'], live: object | undefined): ObjectDetail['differences'] {
  if (live === undefined || (power !== 'start' && power !== 'stop')) return [];
  const status = textOf((live as JsonObject)['status']);
  const desired = power === 'start' ? 'running' : 'stopped';
  return [
    {
      path: 'state',
      desired,
      ...(status === undefined ? {} : { live: status.toLowerCase() }),
      effect: 'live',
      isSecret: false,
    },
  ];
}

const withoutMerged = (live: object): object =>
  Object.fromEntries(Object.entries(live).filter(([name]) => !merged.has(name)));

export function differenceOf({ path, before, after, effect, secret }: Change): ObjectDetail['differences'][number] {
  const shown = (value: Json): Json => (secret ? hidden : redact(value, path.split('.')));
  return {
    path,
    ...(after === undefined || after === null ? {} : { desired: shown(after) }),
    ...(before === undefined ? {} : { live: shown(before) }),
    effect,
    isSecret: secret,
  };
}

/** Runs and drift together, newest first. */
function historyOf(set: ManagedSet, host: string, address: string): ObjectChange[] {
  const drift = set.drift
    .list(Number.MAX_SAFE_INTEGER)
    .filter((one) => one.host === host && one.address === address)
    .map(({ at, by, paths, action, message }) => ({
      at,
      action: 'update' as const,
      by: by ?? 'unknown',
      reason: `${pathsText(paths)}: ${action}`,
      ...withoutUndefined({ message }),
    }));
  return [...set.changesOf(host, address), ...drift]
    .sort((one, other) => Date.parse(other.at) - Date.parse(one.at))
    .slice(0, maxChanges);
}
