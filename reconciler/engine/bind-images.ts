// Replaces references to images of the same run by their fingerprints, which are known only after the image exists. Pure.
import type { Json, JsonObject } from '../core/documents/document.ts';
import { isMap } from '../core/documents/json-values.ts';
import type { Step } from '../core/plan/plan.ts';
import { plainName } from '../core/text/scoped-name.ts';
import { withoutUndefined } from '../../server/lib/shared/without-undefined.ts';

/** Fingerprints by the id of the step that made the image. */
export type FetchedImages = ReadonlyMap<string, string>;

/** The step with fingerprints instead of the names of images. */
export function bindImages(step: Step, steps: ReadonlyMap<string, Step>, made: FetchedImages): Step {
  if (made.size === 0) return step;
  const names = new Map<Json, string>();
  for (const id of step.needs) {
    const [image, fingerprint] = [steps.get(id), made.get(id)];
    if (image !== undefined && fingerprint !== undefined) names.set(plainName(image.name, image.project), fingerprint);
  }
  if (names.size === 0) return step;
  if (step.action === 'create' || step.action === 'rebuild') return { ...step, body: bindBody(step.body, names) };
  if (step.action !== 'update') return step;
  return {
    ...step,
    edits: step.edits.map((edit) => {
      const fingerprint = edit.path === 'target' ? names.get(edit.after ?? null) : undefined;
      return fingerprint === undefined ? edit : { ...edit, after: fingerprint };
    }),
  };
}

function bindBody(body: JsonObject, names: ReadonlyMap<Json, string>): JsonObject {
  const target = names.get(body['target'] ?? null);
  const source = body['source'];
  const fingerprint = isMap(source) ? names.get(source['fingerprint'] ?? null) : undefined;
  return {
    ...body,
    ...withoutUndefined({ target }),
    ...(isMap(source) && fingerprint !== undefined ? { source: { ...source, fingerprint } } : {}),
  };
}
