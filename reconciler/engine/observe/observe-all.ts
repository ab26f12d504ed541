// Reads the live world and the inside of the containers that somebody speaks of, as one picture: when an operation was at work on one
// of them, all is read again after its end. Judges nothing.
import { setTimeout as sleep } from 'node:timers/promises';
import type { Observed } from '../../core/documents/observed.ts';
import { MovedError, observeInside, type Asked, type InsideClient } from './observe-inside.ts';
import { observe, type ObservedClient } from './observe.ts';

export interface WholeClient extends ObservedClient, InsideClient {
  inProject(project: string): WholeClient;
}

const rounds = 5;
const pauseMs = 100;

/** `base`: the project of the client. Throws ClientError: of the server, or that a container is busy still after several looks. */
export async function observeAll(
  client: WholeClient,
  asked: Asked,
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
