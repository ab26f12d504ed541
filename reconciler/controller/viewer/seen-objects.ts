// The objects that `gantry ui` shows: every live one, and declared ones with their plan. Pure.
import { kindNames } from '../../../server/api/kinds.ts';
import { addressOf, type Document, type JsonObject } from '../../core/documents/document.ts';
import { textOf } from '../../core/documents/json-values.ts';
import type { Observed } from '../../core/documents/observed.ts';
import { buildGraph } from '../../core/graph/graph.ts';
import { normalizeDocuments } from '../../core/graph/normalize.ts';
import { coreKind } from '../../core/kinds/index.ts';
import { isAside } from '../../core/live/image-updates.ts';
import { projectOfLive, scopesOf } from '../../core/live/project-scope.ts';
import type { Plan } from '../../core/plan/plan.ts';
import { compareText } from '../../core/text/listing-order.ts';
import { plainName, scopedName } from '../../core/text/scoped-name.ts';
import { objectsOf } from '../decide/object-status.ts';
import type { ObjectDetail, ObjectSummary } from '../contract/index.ts';
import { comparison } from '../sets/object-detail.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export interface HostView {
  readonly host: string;
  readonly observed: Observed;
  /** Absent: no manifests were given, or they have errors. */
  readonly declared?: { readonly plan: Plan; readonly documents: readonly Document[] };
  /** The manifests have errors: nobody knows what they declare. */
  readonly hasProblems?: boolean;
}

export interface SeenObject {
  readonly summary: ObjectSummary;
  /** Absent: the object is declared but does not exist. */
  readonly live?: JsonObject;
}

/** By address: declared objects in the order of the plan, then all others by kind and name. */
export function seenObjects(view: HostView): ReadonlyMap<string, SeenObject> {
  const seen = new Map<string, SeenObject>(declaredObjects(view));
  // An image is declared by a name of the manifest, and its live address is its fingerprint.
  const images = new Set([...seen.values()].flatMap(({ live }) => textOf(live?.['fingerprint']) ?? []));
  for (const [address, object] of liveObjects(view)) {
    const isShown = seen.has(address) || images.has(textOf(object.live?.['fingerprint']) ?? '');
    if (!isShown) seen.set(address, object);
  }
  return seen;
}

function declaredObjects({ host, declared }: HostView): readonly (readonly [string, SeenObject])[] {
  if (declared === undefined) return [];
  const { plan, documents } = declared;
  const { needs } = buildGraph(normalizeDocuments(documents).objects, undefined);
  const none = { set: '', suspended: new Map(), failed: new Map(), reported: new Set<string>(), isSyncing: false };
  const live = new Map(plan.changes.map((change) => [change.address as string, change.live]));
  return [...objectsOf({ host, plan, documents, needs, ...none })].map(([address, summary]) => {
    const object = live.get(address);
    return [address, { summary, ...(object === undefined ? {} : { live: object as JsonObject }) }];
  });
}

function liveObjects({ host, observed, hasProblems }: HostView): readonly (readonly [string, SeenObject])[] {
  const scopes = scopesOf(observed);
  return kindNames.flatMap((kind) => {
    const rules = coreKind(kind);
    return [...rules.liveNames(observed)].sort(compareText).flatMap((key): (readonly [string, SeenObject])[] => {
      const live = rules.live(observed, key)?.object as JsonObject | undefined;
      if (live === undefined || isAside(live)) return [];
      const project = projectOfLive(observed, live);
      const plain = plainName(key, project);
      const name = kind === 'storage_volume' ? key : scopedName(plain, project);
      const message = kind === 'container' ? textOf(live['status']) : undefined;
      const used = (rules.liveReferences?.(live) ?? []).map((one) =>
        addressOf(one.kind, scopes.keyOf(one.kind, one.name, project)),
      );
      const summary: ObjectSummary = {
        host,
        address: addressOf(kind, name),
        kind,
        name: plain,
        ...withoutUndefined({ project }),
        status: hasProblems === true ? 'unknown' : 'undeclared',
        dependsOn: [...new Set(used)].sort(compareText),
        ...withoutUndefined({ message }),
      };
      return [[summary.address, { summary, live }]];
    });
  });
}

/** The object, secrets masked. */
export function seenDetail({ declared }: HostView, { summary, live }: SeenObject): ObjectDetail {
  const change = declared?.plan.changes.find(({ address }) => address === summary.address);
  const document = declared?.documents.find(({ address }) => address === summary.address);
  return { summary, ...comparison(document, live, change), suspensions: [], history: [] };
}
