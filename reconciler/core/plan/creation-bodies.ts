// Bodies of creating requests: from a document alone, or from a document and the container that it replaces.
import type { Change } from '../documents/change.ts';
import type { Document, Json, JsonObject } from '../documents/document.ts';
import { putBody } from './apply-edits.ts';
import { coreKind } from '../kinds/index.ts';
import type { FieldShape } from '../kinds/kind.ts';
import { poolOfVolume, volumeWithin } from '../kinds/storage-volume.ts';
import type { CreateStep } from './plan.ts';
import { plainName } from '../text/scoped-name.ts';
import { mapOf, presentDevices, presentTexts } from '../documents/json-values.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

/** Members that are sent at creation only. */
const creationFields = ['source', 'instance_type', 'certificate'];

export function createBody(document: Document): JsonObject {
  const body: Record<string, Json> = namePart(document);
  for (const [field, shape] of Object.entries(coreKind(document.kind).fields)) {
    const value = document.values[field];
    if (value === undefined || value === null || shape === 'files') continue;
    body[field] = shape === 'map' ? presentTexts(value) : isNested(shape) ? presentDevices(value) : value;
  }
  return { ...body, ...creationPart(document) };
}

const isNested = (shape: FieldShape): boolean => shape === 'devices' || shape === 'members';

function namePart(document: Document): Record<string, Json> {
  const { kind } = document;
  const name = plainName(document.name, document.project);
  if (kind === 'image') return {};
  return kind === 'storage_volume' ? { name: volumeWithin(name), pool: poolOfVolume(name) } : { name };
}

function creationPart(document: Document): JsonObject {
  const part: Record<string, Json> = {};
  for (const field of creationFields) {
    const value = document.values[field];
    if (value !== undefined && value !== null) part[field] = value;
  }
  return part;
}

/** The new container takes over the unmanaged settings and the addresses of its network cards. */
export function replacementBody(document: Document, live: object, edits: readonly Change[]): JsonObject {
  if (document.kind !== 'container') return createBody(document);
  const kept = putBody(document.kind, live, edits);
  const { isComputed } = coreKind(document.kind);
  const written = mapOf(document.values['config']);
  const config = Object.entries(mapOf(kept['config'])).filter(
    ([key]) => /^volatile\..+\.hwaddr$/.test(key) || key in written || !isComputed(['config', key]),
  );
  return {
    name: plainName(document.name, document.project),
    ...kept,
    config: Object.fromEntries(config),
    ...creationPart(document),
  };
}

/** Members of a creating step besides its body. Copies and images begin with more than their documents declare. */
export function creationFacts({ manage, kind, values, files }: Document): Pick<CreateStep, 'upload' | 'isExact'> {
  const isCopy = kind === 'container' && mapOf(values['source'])['type'] === 'copy';
  const isDescribed = kind === 'image' && values['properties'] !== undefined;
  return {
    ...withoutUndefined({ upload: files }),
    ...(manage.mode === 'exact' && (isCopy || isDescribed) ? { isExact: true } : {}),
  };
}
