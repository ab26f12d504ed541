// Reads data sources of the gantry provider through the API when a plan is made, with the same members as the provider's.
import type { Client } from '../../../server/client/client.ts';
import { isNotFound } from '../../../server/client/client-error.ts';
import { FactsArgumentError, type Ask } from '../../../server/client/facts/ask.ts';
import * as containers from '../../../server/client/facts/containers.ts';
import { networkAcl } from '../../../server/client/facts/network-acl.ts';
import * as objects from '../../../server/client/facts/objects.ts';
import * as servers from '../../../server/client/facts/server.ts';
import type { JsonObject } from '../../core/documents/document.ts';
import type { DataAnswer, DataRequest } from '../terraform-json/evaluation/instance.ts';
import { fromJson } from '../terraform-json/expression/json-text.ts';
import { reasonOf } from '../../../server/lib/shared/reason.ts';

/** Answers every request; a refusal of the server is an answer too. */
export async function readData(
  client: Client,
  requests: readonly DataRequest[],
  signal?: AbortSignal,
): Promise<readonly DataAnswer[]> {
  const answers: DataAnswer[] = [];
  for (const request of requests) answers.push(await answerTo(client, request, signal));
  return answers;
}

async function answerTo(client: Client, request: DataRequest, signal?: AbortSignal): Promise<DataAnswer> {
  const { remote, project: own } = request.args;
  if (typeof remote === 'string' && remote !== '') {
    return { error: `it is on the remote ${remote}: a plan covers one server, which --host names`, isMissing: false };
  }
  const project = typeof own === 'string' && own !== '' ? own : request.project;
  const there = project === undefined ? client : client.inProject(project);
  const reader = readers[request.type];
  if (reader === undefined) return { error: `there is no data source ${request.type}`, isMissing: false };
  try {
    return { value: fromJson(await reader({ client: there, signal }, argumentsIn(request.args))) };
  } catch (error) {
    signal?.throwIfAborted();
    if (!isNotFound(error) && !(error instanceof FactsArgumentError)) {
      const why = reasonOf(error);
      return { error: `${client.host} cannot be asked: ${why}`, isMissing: false };
    }
    return { error: (error as Error).message, isMissing: isNotFound(error) };
  }
}

/** All arguments of all data sources; each reads its own. */
function argumentsIn(args: JsonObject) {
  const text = (name: string): string | null => (typeof args[name] === 'string' ? args[name] : null);
  const [name, pool, network] = [text('name') ?? '', text('pool') ?? '', text('network') ?? ''];
  const [alias, fingerprint, status, profile] = [text('alias'), text('fingerprint'), text('status'), text('profile')];
  const config = (args['config'] ?? {}) as Readonly<Record<string, string>>;
  return { name, pool, network, alias, fingerprint, status, profile, name_prefix: text('name_prefix'), config };
}

const readers: Readonly<Record<string, (ask: Ask, args: ReturnType<typeof argumentsIn>) => Promise<object>>> = {
  gantry_container: containers.container,
  gantry_containers: containers.containers,
  gantry_image: objects.image,
  gantry_profile: objects.profile,
  gantry_network: objects.network,
  gantry_network_acl: networkAcl,
  gantry_network_leases: objects.networkLeases,
  gantry_storage_pool: objects.storagePool,
  gantry_storage_volume: objects.storageVolume,
  gantry_project: objects.project,
  gantry_certificate: objects.certificate,
  gantry_server: servers.server,
  gantry_resources: servers.resources,
  gantry_cluster: servers.cluster,
};
