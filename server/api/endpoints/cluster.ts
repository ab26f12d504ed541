// Endpoints of the cluster (spec 4.13).
import {
  Cluster,
  ClusterAccept,
  ClusterAccepted,
  ClusterArrival,
  ClusterMember,
  ClusterMemberPost,
  ClusterPut,
} from '../cluster/cluster.ts';
import { endpointsOf, everyone } from './endpoint.ts';
import { recursion } from './shared.ts';

const endpoint = endpointsOf('server');

const clustering = { extension: 'clustering' } as const;

export const clusterEndpoints = [
  endpoint('cluster.get', 'GET /1.0/cluster', 'sync', 'Cluster membership of this server.', {
    ...clustering,
    auth: ['untrusted', 'trusted'],
    scope: 'shared',
    result: Cluster,
    etag: true,
  }),
  endpoint('cluster.put', 'PUT /1.0/cluster', 'async', 'Form a cluster, join one, or leave it.', {
    ...clustering,
    body: ClusterPut,
    etag: true,
  }),
  endpoint('members.list', 'GET /1.0/cluster/members', 'sync', 'Members.', { ...clustering, ...recursion }),
  endpoint('members.create', 'POST /1.0/cluster/members', 'async', 'Make a token that lets a host join once.', {
    ...clustering,
    body: ClusterMemberPost,
  }),
  endpoint('members.get', 'GET /1.0/cluster/members/:name', 'sync', 'One member.', {
    ...clustering,
    result: ClusterMember,
    etag: true,
  }),
  endpoint('members.post', 'POST /1.0/cluster/members/:name', 'sync', 'Rename it.', {
    ...clustering,
    body: ClusterMemberPost,
  }),
  endpoint('members.delete', 'DELETE /1.0/cluster/members/:name', 'async', 'Remove it.', {
    ...clustering,
    query: ['force'],
  }),
  endpoint('cluster.arrivals', 'POST /internal/cluster/arrivals', 'async', 'Take a container of another member.', {
    ...clustering,
    body: ClusterArrival,
  }),
  endpoint(
    'cluster.accept',
    'POST /internal/cluster/accept',
    'sync',
    'Let a host in that has a token or the password.',
    {
      ...clustering,
      auth: everyone,
      body: ClusterAccept,
      result: ClusterAccepted,
    },
  ),
];
