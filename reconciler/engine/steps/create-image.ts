// Uploads the files of an image unless the server already has them. The manifest reader has computed the fingerprint.
import { isNotFound } from '../../../server/client/client-error.ts';
import type { ImageFiles, JsonObject } from '../../core/documents/document.ts';
import type { CreateStep } from '../../core/plan/plan.ts';
import { sendAndWait, type Note, type StepContext } from './context.ts';
import { keepOnlyProperties } from './remove-undeclared.ts';
import { mayExist, recogniseExisting } from './existing.ts';
import { withoutUndefined } from '../../../server/lib/shared/without-undefined.ts';

export async function createImage(
  context: StepContext,
  step: CreateStep,
  files: ImageFiles,
  signal: AbortSignal,
): Promise<Note> {
  const { client } = context;
  if (await imageExists(context, step.name, signal)) return 'the server already has these files';
  const properties = textsOf(step.body['properties']);
  try {
    await sendAndWait(
      context,
      () =>
        client.uploadImage(
          {
            files: files.parts,
            fingerprint: step.name,
            ...(typeof step.body['public'] === 'boolean' ? { public: step.body['public'] } : {}),
            ...withoutUndefined({ properties }),
            onProgress: (sent, total) => reportUpload(context, sent, total),
          },
          signal,
        ),
      signal,
    );
  } catch (error) {
    signal.throwIfAborted();
    if (!mayExist(error)) throw error;
    return recogniseExisting(client, step, error, signal);
  }
  if (step.body['auto_update'] === true) await setAutoUpdate(context, step, signal);
  if (step.isExact === true) await keepOnlyProperties(context, step, step.name, signal);
  return undefined;
}

export async function imageExists(context: StepContext, fingerprint: string, signal: AbortSignal): Promise<boolean> {
  try {
    await context.client.get('image', fingerprint, signal);
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}

/** Sets the values for which the upload has no header. */
async function setAutoUpdate(context: StepContext, step: CreateStep, signal: AbortSignal): Promise<void> {
  const live = await context.client.get('image', step.name, signal);
  const { public: isPublic, properties } = live.metadata;
  const write = live.etag === undefined ? {} : { ifMatch: live.etag };
  await context.client.put('image', step.name, { public: isPublic, properties, auto_update: true }, write, signal);
}

export function reportUpload(context: StepContext, sent: number, total: number): void {
  const percent = total === 0 ? 100 : Math.floor((sent / total) * 100);
  context.onProgress(percent < 100 ? `Upload: ${percent}%` : 'Unpacking', percent < 100 ? percent : undefined);
}

function textsOf(value: JsonObject[string] | undefined): Readonly<Record<string, string>> | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return Object.fromEntries(
    Object.entries(value).map(([key, text]) => [key, typeof text === 'string' ? text : JSON.stringify(text)]),
  );
}
