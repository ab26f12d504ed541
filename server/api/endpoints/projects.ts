// Endpoints of projects (spec 4.14).
import { RenamePost } from '../container/profile.ts';
import { Project, ProjectCreate, ProjectPut, ProjectState } from '../project/project.ts';
import { endpointsOf } from './endpoint.ts';
import { recursion } from './shared.ts';

const endpoint = endpointsOf({ scope: 'server', extension: 'projects' });

export const projectEndpoints = [
  endpoint('projects.list', 'GET /1.0/projects', 'sync', 'Projects.', { ...recursion, scope: 'shared' }),
  endpoint('projects.create', 'POST /1.0/projects', 'sync', 'Create one.', { body: ProjectCreate }),
  endpoint('projects.get', 'GET /1.0/projects/:name', 'sync', 'One project.', {
    scope: 'shared',
    result: Project,
    etag: true,
  }),
  endpoint('projects.state', 'GET /1.0/projects/:name/state', 'sync', 'Its limits and what is used of them.', {
    scope: 'shared',
    extension: 'project_usage',
    result: ProjectState,
  }),
  endpoint('projects.put', 'PUT /1.0/projects/:name', 'sync', 'Replace it.', { body: ProjectPut, etag: true }),
  endpoint('projects.patch', 'PATCH /1.0/projects/:name', 'sync', 'Change it.', { body: ProjectPut, etag: true }),
  endpoint('projects.post', 'POST /1.0/projects/:name', 'async', 'Rename it with all that is in it.', {
    body: RenamePost,
  }),
  endpoint('projects.delete', 'DELETE /1.0/projects/:name', 'sync', 'Delete it.', { status: 202 }),
];
