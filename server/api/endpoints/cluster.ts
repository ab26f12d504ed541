// Endpoints of the cluster (spec 4.13).
import {
  Cluster,
  ClusterAccept,
  ClusterAccepted,
  ClusterArrival,
  ClusterDeparture,
  ClusterCertificatePut,
  ClusterKeys,
  ClusterMember,
  ClusterMemberPost,
  ClusterMemberPut,
  ClusterMemberStatePost,
  ClusterPut,
  ClusterReturn,
} from '../cluster/cluster.ts';
import { ClusterGroup, ClusterGroupCreate, ClusterGroupPost, ClusterGroupPut } from '../cluster/member-groups.ts';
import { endpointsOf, everyone, trustedOnly } from './endpoint.ts';
import { recursion } from './shared.ts';

const endpoint = endpointsOf({ scope: 'server', extension: 'clustering' });
const groups = endpointsOf({ scope: 'server', extension: 'clustering_groups' });

export const clusterEndpoints = [
  endpoint('cluster.get', 'GET /1.0/cluster', 'sync', 'Cluster membership of this server.', {
    auth: ['untrusted', 'trusted'],
    lxdAuth: trustedOnly,
    scope: 'shared',
    result: Cluster,
    etag: true,
  }),
  endpoint('cluster.put', 'PUT /1.0/cluster', 'async', 'Form a cluster, join one, or leave it.', {
    body: ClusterPut,
    etag: true,
  }),
  endpoint(
    'cluster.certificate.put',
    'PUT /1.0/cluster/certificate',
    'sync',
    'Change the certificate of all members.',
    { extension: 'clustering_update_cert', body: ClusterCertificatePut },
  ),
  endpoint('members.list', 'GET /1.0/cluster/members', 'sync', 'Members.', recursion),
  endpoint('members.create', 'POST /1.0/cluster/members', 'async', 'Make a token that lets a host join once.', {
    body: ClusterMemberPost,
  }),
  endpoint('members.get', 'GET /1.0/cluster/members/:name', 'sync', 'One member.', {
    result: ClusterMember,
    etag: true,
  }),
  endpoint('members.put', 'PUT /1.0/cluster/members/:name', 'sync', 'Replace what can be written of it.', {
    extension: 'clustering_edit_roles',
    body: ClusterMemberPut,
    etag: true,
  }),
  endpoint('members.patch', 'PATCH /1.0/cluster/members/:name', 'sync', 'Change the given parts.', {
    extension: 'clustering_edit_roles',
    body: ClusterMemberPut,
    etag: true,
  }),
  groups('memberGroups.list', 'GET /1.0/cluster/groups', 'sync', 'Groups of members.', recursion),
  groups('memberGroups.create', 'POST /1.0/cluster/groups', 'sync', 'Make a group.', { body: ClusterGroupCreate }),
  groups('memberGroups.get', 'GET /1.0/cluster/groups/:name', 'sync', 'One group.', {
    result: ClusterGroup,
    etag: true,
  }),
  groups('memberGroups.put', 'PUT /1.0/cluster/groups/:name', 'sync', 'Replace it.', {
    body: ClusterGroupPut,
    etag: true,
  }),
  groups('memberGroups.patch', 'PATCH /1.0/cluster/groups/:name', 'sync', 'Change the given parts.', {
    body: ClusterGroupPut,
    etag: true,
  }),
  groups('memberGroups.post', 'POST /1.0/cluster/groups/:name', 'sync', 'Rename it.', { body: ClusterGroupPost }),
  groups('memberGroups.delete', 'DELETE /1.0/cluster/groups/:name', 'sync', 'Delete an empty group.'),
  endpoint('members.post', 'POST /1.0/cluster/members/:name', 'sync', 'Rename it.', { body: ClusterMemberPost }),
  endpoint(
    'members.delete',
    'DELETE /1.0/cluster/members/:name',
    'async',
    'Remove it. With force also when it is offline, with online too also with what an online one has.',
    { query: ['force', 'online'] },
  ),
  endpoint(
    'members.state.post',
    'POST /1.0/cluster/members/:name/state',
    'async',
    'Evacuate it: its containers move to other members or stop; or restore it: they come back.',
    { extension: 'clustering_evacuation', body: ClusterMemberStatePost },
  ),
  endpoint('cluster.returns', 'POST /internal/cluster/returns', 'async', 'Give a container back to its member.', {
    body: ClusterReturn,
  }),
  endpoint('cluster.arrivals', 'POST /internal/cluster/arrivals', 'async', 'Take a container of another member.', {
    body: ClusterArrival,
  }),
  endpoint('cluster.departures', 'POST /internal/cluster/departures', 'async', 'Send a volume to another member.', {
    body: ClusterDeparture,
  }),
  endpoint(
    'cluster.keys.get',
    'GET /internal/cluster/keys',
    'sync',
    'Keys of the cluster, for a member that was away.',
    { result: ClusterKeys },
  ),
  endpoint('cluster.keys.post', 'POST /internal/cluster/keys', 'async', 'Give the cluster other keys.'),
  endpoint(
    'cluster.accept',
    'POST /internal/cluster/accept',
    'sync',
    'Let a host in that has a token or the password.',
    { auth: everyone, body: ClusterAccept, result: ClusterAccepted },
  ),
];
