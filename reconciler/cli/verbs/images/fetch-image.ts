// Lets the server fetch the image of a document from its source, and returns its fingerprint.
import { pause } from '../../../../server/lib/shared/deadline.ts';
import type { Client } from '../../../../server/client/client.ts';
import { createBody } from '../../../core/plan/creation-bodies.ts';
import type { Document } from '../../../core/documents/document.ts';
import type { CreateStep } from '../../../core/plan/plan.ts';
import type { CliContext } from '../../session/context.ts';
import { exitCodes } from '../../errors/exit-codes.ts';
import { CliError } from '../../errors/usage-error.ts';
import { reasonOf } from '../../../../server/lib/shared/reason.ts';

export async function fetchImage(context: CliContext, client: Client, document: Document): Promise<string> {
  const { createRemoteImage } = await import('../../../engine/steps/create-remote-image.ts');
  const { address, name, project, manage } = document;
  const step: CreateStep = {
    id: `${address}#create`,
    address,
    kind: 'image',
    name,
    needs: [],
    timeoutMs: manage.timeoutMs,
    action: 'create',
    body: createBody(document),
  };
  let made = '';
  const deps = {
    client: project === undefined ? client : client.inProject(project),
    onMade: (fingerprint: string) => {
      made = fingerprint;
    },
    onOperation: () => {},
    onProgress: (text: string) => context.note(`${address}: ${text}`),
    nowMs: context.io.nowMs,
    pause,
  };
  const limited = AbortSignal.any([context.stop, AbortSignal.timeout(step.timeoutMs)]);
  await createRemoteImage(deps, step, limited).catch((error: unknown) => {
    if (context.stop.aborted) throw context.stop.reason;
    const why = reasonOf(error);
    throw new CliError(`cannot fetch ${address} from its source: ${why}`, exitCodes.error, error);
  });
  return made;
}
