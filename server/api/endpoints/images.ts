// Endpoints of images and aliases (spec 4.8).
import { endpointsOf, everyone } from './endpoint.ts';
import { Image, ImageAlias, ImageAliasCreate, ImageAliasPut, ImageChange, ImagePost } from '../image/image.ts';
import { RenamePost } from '../container/profile.ts';
import { recursion } from './shared.ts';

const endpoint = endpointsOf({ scope: 'project' });

export const imageEndpoints = [
  endpoint('images.list', 'GET /1.0/images', 'sync', 'Images; callers without trust see public ones.', {
    auth: everyone,
    ...recursion,
    query: [...recursion.query, 'all-projects'],
  }),
  endpoint('images.create', 'POST /1.0/images', 'async', 'Upload files, or make one from an image, container or URL.', {
    body: ImagePost,
    placedBy: 'source',
    ownBody: 'files',
  }),
  endpoint('images.get', 'GET /1.0/images/:fingerprint', 'sync', 'One image; a unique prefix will do.', {
    placedBy: 'anyone',
    auth: everyone,
    query: ['secret'],
    result: Image,
    etag: true,
  }),
  endpoint('images.put', 'PUT /1.0/images/:fingerprint', 'sync', 'Replace properties, public, auto_update.', {
    placedBy: 'first',
    body: ImageChange,
    etag: true,
  }),
  endpoint('images.patch', 'PATCH /1.0/images/:fingerprint', 'sync', 'Change properties, public, auto_update.', {
    placedBy: 'first',
    body: ImageChange,
    etag: true,
    extension: 'patch',
  }),
  endpoint('images.delete', 'DELETE /1.0/images/:fingerprint', 'async', 'Delete it.', { placedBy: 'anyone' }),
  endpoint('images.export', 'GET /1.0/images/:fingerprint/export', 'raw', 'The image file or files.', {
    placedBy: 'nearest',
    auth: everyone,
    query: ['secret'],
  }),
  endpoint(
    'images.secret',
    'POST /1.0/images/:fingerprint/secret',
    'async',
    'A secret with which a guest may fetch the image.',
  ),
  endpoint(
    'images.refresh',
    'POST /1.0/images/:fingerprint/refresh',
    'async',
    'Look for a newer version at its source.',
    { extension: 'image_force_refresh' },
  ),
  endpoint('aliases.list', 'GET /1.0/images/aliases', 'sync', 'Aliases.', recursion),
  endpoint('aliases.create', 'POST /1.0/images/aliases', 'sync', 'Create an alias.', { body: ImageAliasCreate }),
  endpoint('aliases.get', 'GET /1.0/images/aliases/*', 'sync', 'One alias; without trust only of a public image.', {
    auth: everyone,
    result: ImageAlias,
    etag: true,
  }),
  endpoint('aliases.put', 'PUT /1.0/images/aliases/*', 'sync', 'Replace description and target.', {
    body: ImageAliasPut,
    etag: true,
  }),
  endpoint('aliases.patch', 'PATCH /1.0/images/aliases/*', 'sync', 'Change description or target.', {
    body: ImageAliasPut,
    etag: true,
    extension: 'patch',
  }),
  endpoint('aliases.post', 'POST /1.0/images/aliases/*', 'sync', 'Rename it.', { body: RenamePost }),
  endpoint('aliases.delete', 'DELETE /1.0/images/aliases/*', 'sync', 'Delete it.'),
];
