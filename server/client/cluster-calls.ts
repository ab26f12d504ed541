// Calls for the cluster of a server and its members.
import type { Cluster, ClusterMember, ClusterMemberStatePost, ClusterPut } from '../api/cluster/cluster.ts';
import type { Operation } from '../api/operation.ts';
import { listOf, type Send } from './object-calls.ts';
import type { Reply } from './transport/reply.ts';

export interface ClusterCalls {
  /** Whether the server is a member, and its name. */
  get(signal?: AbortSignal): Promise<Cluster>;
  /** Forms a cluster or joins one; the answer is an operation. */
  change(body: ClusterPut, signal?: AbortSignal): Promise<Reply<unknown>>;
  members(signal?: AbortSignal): Promise<readonly ClusterMember[]>;
  member(name: string, signal?: AbortSignal): Promise<ClusterMember>;
  /** An operation that waits for a host of this name; its metadata has the parts of the token. */
  makeToken(name: string, signal?: AbortSignal): Promise<Operation>;
  rename(name: string, to: string, signal?: AbortSignal): Promise<void>;
  /** The answer is an operation. */
  changeState(name: string, body: ClusterMemberStatePost, signal?: AbortSignal): Promise<Reply<unknown>>;
  /** The answer is an operation. `isForced`: the member does not answer, and its objects are lost; `isEvenOnline`: even if it does answer. */
  remove(
    name: string,
    removal: { readonly isForced: boolean; readonly isEvenOnline: boolean },
    signal?: AbortSignal,
  ): Promise<Reply<unknown>>;
}

const collection = '/1.0/cluster/members';
const pathOf = (name: string): string => `${collection}/${encodeURIComponent(name)}`;

export const clusterCalls = (send: Send): ClusterCalls => ({
  get: async (signal) => (await send<Cluster>({ method: 'GET', path: '/1.0/cluster' }, signal)).metadata,
  change: (json, signal) => send({ method: 'PUT', path: '/1.0/cluster', json }, signal),
  members: async (signal) => (await listOf(send, collection, signal)) as readonly ClusterMember[],
  member: async (name, signal) => (await send<ClusterMember>({ method: 'GET', path: pathOf(name) }, signal)).metadata,
  makeToken: async (name, signal) =>
    (await send<Operation>({ method: 'POST', path: collection, json: { server_name: name } }, signal)).metadata,
  rename: async (name, to, signal) => {
    await send({ method: 'POST', path: pathOf(name), json: { server_name: to } }, signal);
  },
  changeState: (name, json, signal) => send({ method: 'POST', path: `${pathOf(name)}/state`, json }, signal),
  remove: (name, { isForced, isEvenOnline }, signal) => {
    const query = { force: isForced ? 1 : undefined, online: isEvenOnline ? 1 : undefined };
    return send({ method: 'DELETE', path: pathOf(name), query }, signal);
  },
});
