// Endpoints of the server itself and of trusted certificates (spec 4.1, 4.7, 4.13).
import { Certificate, CertificateCreate, CertificatePut } from '../server/certificate.ts';
import { endpointsOf, everyone, trustedOnly } from './endpoint.ts';
import { Resources, Server, ServerPut } from '../server/server.ts';
import { Recovery, RecoveryPost } from '../server/recovery.ts';
import { recursion, strings } from './shared.ts';

const endpoint = endpointsOf({ scope: 'server' });

export const serverEndpoints = [
  endpoint('root.get', 'GET /', 'sync', 'Supported API versions.', {
    auth: everyone,
    scope: 'shared',
    result: strings,
  }),
  endpoint('server.get', 'GET /1.0', 'sync', 'The server; callers without trust see only its public fields.', {
    auth: everyone,
    scope: 'shared',
    query: ['target'],
    result: Server,
    etag: true,
  }),
  endpoint('server.put', 'PUT /1.0', 'sync', 'Replace the server config.', {
    query: ['target'],
    body: ServerPut,
    etag: true,
  }),
  endpoint('server.patch', 'PATCH /1.0', 'sync', 'Change the given server config keys.', {
    query: ['target'],
    body: ServerPut,
    etag: true,
    extension: 'patch',
  }),
  endpoint('resources.get', 'GET /1.0/resources', 'sync', 'Processors and memory of the host.', {
    auth: everyone,
    lxdAuth: trustedOnly,
    scope: 'shared',
    query: ['target'],
    result: Resources,
    extension: 'resources',
  }),
  endpoint('metrics.get', 'GET /1.0/metrics', 'raw', 'Figures of containers and of the server, as Prometheus text.', {
    scope: 'shared',
    access: 'metrics',
    traced: false,
  }),
  endpoint(
    'recovery.run',
    'POST /1.0/recovery',
    'sync',
    'Find what is lost of the records in the copies that pools have, and with apply bring it back.',
    { query: ['target'], body: RecoveryPost, result: Recovery },
  ),
  endpoint(
    'server.gc',
    'GET /internal/gc',
    'sync',
    'Nothing to be done: memory is freed as it goes. Clients of LXD ask for it.',
  ),
  endpoint('events.get', 'GET /1.0/events', 'websocket', 'The stream of notifications.', {
    query: ['type', 'all-projects'],
    scope: 'project',
  }),
];

export const certificateEndpoints = [
  endpoint('certificates.list', 'GET /1.0/certificates', 'sync', 'Trusted client certificates.', {
    ...recursion,
    scope: 'shared',
  }),
  endpoint(
    'certificates.create',
    'POST /1.0/certificates',
    'sync',
    'Trust a certificate; callers without trust need the password or a token. With token: an operation whose metadata has a one-time token.',
    { auth: ['untrusted', 'trusted'], body: CertificateCreate },
  ),
  endpoint(
    'certificates.get',
    'GET /1.0/certificates/:fingerprint',
    'sync',
    'One certificate; a unique prefix will do.',
    { scope: 'shared', result: Certificate, etag: true },
  ),
  endpoint('certificates.put', 'PUT /1.0/certificates/:fingerprint', 'sync', 'Replace name and type.', {
    body: CertificatePut,
    etag: true,
    extension: 'certificate_update',
  }),
  endpoint('certificates.patch', 'PATCH /1.0/certificates/:fingerprint', 'sync', 'Change name or type.', {
    body: CertificatePut,
    etag: true,
    extension: 'certificate_update',
  }),
  endpoint('certificates.delete', 'DELETE /1.0/certificates/:fingerprint', 'sync', 'Stop trusting it, at once.', {
    status: 202,
  }),
];
