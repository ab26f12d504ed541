// Endpoints of the cluster and of projects (spec 4.13, 4.14).
import { Cluster, ClusterMember, ClusterMemberPost, ClusterPut } from '../cluster/cluster.ts';
import { Project, ProjectCreate, ProjectPut } from '../project/project.ts';
import { endpoint } from './endpoint.ts';
import { RenamePost } from '../container/profile.ts';
import { recursion, unbuilt } from './shared.ts';

const clustering = { ...unbuilt, extension: 'clustering' } as const;

export const clusterEndpoints = [
  endpoint('cluster.get', 'GET /1.0/cluster', 'sync', 'Cluster membership of this server.', {
    ...clustering,
    auth: ['untrusted', 'trusted'],
    result: Cluster,
    etag: true,
  }),
  endpoint('cluster.put', 'PUT /1.0/cluster', 'async', 'Bootstrap, join or leave.', {
    ...clustering,
    body: ClusterPut,
    etag: true,
  }),
  endpoint('members.list', 'GET /1.0/cluster/members', 'sync', 'Members.', { ...clustering, ...recursion }),
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
];

const projects = { ...unbuilt, extension: 'projects' } as const;

export const projectEndpoints = [
  endpoint('projects.list', 'GET /1.0/projects', 'sync', 'Projects.', { ...projects, ...recursion }),
  endpoint('projects.create', 'POST /1.0/projects', 'sync', 'Create one.', {
    ...projects,
    body: ProjectCreate,
  }),
  endpoint('projects.get', 'GET /1.0/projects/:name', 'sync', 'One project.', {
    ...projects,
    result: Project,
    etag: true,
  }),
  endpoint('projects.put', 'PUT /1.0/projects/:name', 'sync', 'Replace it.', {
    ...projects,
    body: ProjectPut,
    etag: true,
  }),
  endpoint('projects.patch', 'PATCH /1.0/projects/:name', 'sync', 'Change it.', {
    ...projects,
    body: ProjectPut,
    etag: true,
  }),
  endpoint('projects.post', 'POST /1.0/projects/:name', 'async', 'Rename it.', { ...projects, body: RenamePost }),
  endpoint('projects.delete', 'DELETE /1.0/projects/:name', 'sync', 'Delete it.', { ...projects, status: 202 }),
];
