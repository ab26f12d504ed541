// Endpoints of networks, network ACLs, operations and profiles (spec 4.9 to 4.11).
import { endpointsOf, everyone } from './endpoint.ts';
import { Network, NetworkCreate, NetworkLease, NetworkPut, NetworkState } from '../network/network.ts';
import { NetworkAcl, NetworkAclCreate, NetworkAclPut } from '../network/network-acl.ts';
import { Operation } from '../operation.ts';
import { Profile, ProfileCreate, ProfilePut, RenamePost } from '../container/profile.ts';
import { Type } from 'typebox';
import { recursion, recursionInProjects } from './shared.ts';

const endpoint = endpointsOf({ scope: 'server' });
const managed = endpointsOf({ scope: 'server', extension: 'network' });
const acls = endpointsOf({ scope: 'server', extension: 'network_acl' });
const shared = endpointsOf({ scope: 'shared' });
const inProject = endpointsOf({ scope: 'project' });

export const networkEndpoints = [
  endpoint('networks.list', 'GET /1.0/networks', 'sync', 'Networks and host interfaces.', {
    ...recursion,
    scope: 'shared',
  }),
  managed('networks.create', 'POST /1.0/networks', 'sync', 'Create a managed bridge.', {
    query: ['target'],
    target: 'part',
    body: NetworkCreate,
  }),
  endpoint('networks.get', 'GET /1.0/networks/:name', 'sync', 'One network.', {
    scope: 'shared',
    query: ['target'],
    result: Network,
    etag: true,
  }),
  managed('networks.put', 'PUT /1.0/networks/:name', 'sync', 'Replace config and description.', {
    query: ['target'],
    body: NetworkPut,
    etag: true,
  }),
  managed('networks.patch', 'PATCH /1.0/networks/:name', 'sync', 'Change the given config keys.', {
    query: ['target'],
    body: NetworkPut,
    etag: true,
  }),
  managed('networks.post', 'POST /1.0/networks/:name', 'sync', 'Rename it.', { body: RenamePost, status: 204 }),
  managed('networks.delete', 'DELETE /1.0/networks/:name', 'sync', 'Delete an unused network.', { status: 202 }),
  endpoint('networks.state', 'GET /1.0/networks/:name/state', 'sync', 'Addresses and counters.', {
    query: ['target'],
    result: NetworkState,
    extension: 'network_state',
  }),
  endpoint('networks.leases', 'GET /1.0/networks/:name/leases', 'sync', 'Leases.', {
    scope: 'shared',
    query: ['target'],
    result: Type.Array(NetworkLease),
    extension: 'network_leases',
  }),
];

export const networkAclEndpoints = [
  acls('networkAcls.list', 'GET /1.0/network-acls', 'sync', 'Network ACLs.', { ...recursion, scope: 'shared' }),
  acls('networkAcls.create', 'POST /1.0/network-acls', 'sync', 'Create a network ACL.', { body: NetworkAclCreate }),
  acls('networkAcls.get', 'GET /1.0/network-acls/:name', 'sync', 'One network ACL.', {
    result: NetworkAcl,
    etag: true,
  }),
  acls('networkAcls.put', 'PUT /1.0/network-acls/:name', 'sync', 'Replace rules, config and description.', {
    body: NetworkAclPut,
    etag: true,
  }),
  acls('networkAcls.patch', 'PATCH /1.0/network-acls/:name', 'sync', 'Change the given members.', {
    body: NetworkAclPut,
    etag: true,
  }),
  acls('networkAcls.post', 'POST /1.0/network-acls/:name', 'sync', 'Rename an unused network ACL.', {
    body: RenamePost,
    status: 204,
  }),
  acls('networkAcls.delete', 'DELETE /1.0/network-acls/:name', 'sync', 'Delete an unused network ACL.', {
    status: 202,
  }),
];

export const operationEndpoints = [
  shared(
    'operations.list',
    'GET /1.0/operations',
    'sync',
    'Operations that are running, waiting or ended in the last seconds.',
    recursionInProjects,
  ),
  shared('operations.get', 'GET /1.0/operations/:id', 'sync', 'One operation.', { result: Operation }),
  shared('operations.delete', 'DELETE /1.0/operations/:id', 'sync', 'Cancel it.', { status: 202, needsStore: false }),
  shared('operations.wait', 'GET /1.0/operations/:id/wait', 'sync', 'Wait for its end.', {
    query: ['timeout'],
    result: Operation,
  }),
  shared('operations.websocket', 'GET /1.0/operations/:id/websocket', 'websocket', 'Data channel; needs the secret.', {
    auth: everyone,
    query: ['secret'],
  }),
];

export const profileEndpoints = [
  inProject('profiles.list', 'GET /1.0/profiles', 'sync', 'Profiles.', recursionInProjects),
  inProject('profiles.create', 'POST /1.0/profiles', 'sync', 'Create a profile.', { body: ProfileCreate }),
  inProject('profiles.get', 'GET /1.0/profiles/:name', 'sync', 'One profile.', { result: Profile, etag: true }),
  inProject('profiles.put', 'PUT /1.0/profiles/:name', 'sync', 'Replace config, description, devices.', {
    body: ProfilePut,
    etag: true,
  }),
  inProject('profiles.patch', 'PATCH /1.0/profiles/:name', 'sync', 'Change the given members.', {
    body: ProfilePut,
    etag: true,
    extension: 'patch',
  }),
  inProject('profiles.post', 'POST /1.0/profiles/:name', 'sync', 'Rename it.', { body: RenamePost, status: 204 }),
  inProject('profiles.delete', 'DELETE /1.0/profiles/:name', 'sync', 'Delete an unused profile.', { status: 202 }),
];
