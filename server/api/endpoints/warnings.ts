// Endpoints of warnings (extension of the real system).
import { Warning, WarningPut } from '../server/warning.ts';
import { endpointsOf } from './endpoint.ts';
import { recursion } from './shared.ts';

const endpoint = endpointsOf({ scope: 'server', extension: 'warnings' });

export const warningEndpoints = [
  endpoint('warnings.list', 'GET /1.0/warnings', 'sync', 'Warnings, of all projects unless one is named.', recursion),
  endpoint('warnings.get', 'GET /1.0/warnings/:uuid', 'sync', 'One warning.', { result: Warning, etag: true }),
  endpoint('warnings.put', 'PUT /1.0/warnings/:uuid', 'sync', 'Acknowledge it, or make it new again.', {
    body: WarningPut,
    etag: true,
  }),
  endpoint('warnings.patch', 'PATCH /1.0/warnings/:uuid', 'sync', 'The same as PUT.', { body: WarningPut, etag: true }),
  endpoint('warnings.delete', 'DELETE /1.0/warnings/:uuid', 'sync', 'Delete it.'),
];
