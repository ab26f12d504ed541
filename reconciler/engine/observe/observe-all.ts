// Observes the server and the inside of the containers that documents or records name, as one consistent state: when an operation ran on
// one of them, reads everything again after its end. Decides nothing.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Observed } from '../../core/documents/observed.ts';
import { MovedError, observeInside, type ContentsRequest, type InsideClient } from './observe-inside.ts';
import { observe, type ObservedClient } from './observe.ts';

export interface WholeClient extends ObservedClient, InsideClient {
  inProject(project: string): WholeClient;
}

const rounds = 5;
const pauseMs = 100;

/** `base`: the project of the client. Throws ClientError for an error of the server, or when a container is still busy after several attempts. */
export async function observeAll(
  client: WholeClient,
  asked: ContentsRequest,
  signal: AbortSignal,
  base?: string,
): Promise<Observed> {
  for (let round = 1; ; round += 1) {
    const lists = await observe(client, signal, base);
    try {
      return await observeInside(client, lists, asked, signal);
    } catch (error) {
      if (!(error instanceof MovedError)) throw error;
      if (round >= rounds) throw error.cause;
      await sleep(pauseMs * round, undefined, { signal });
    }
  }
}
