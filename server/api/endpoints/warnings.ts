// Endpoints of warnings (extension of the real system).
import { Warning, WarningPut } from '../server/warning.ts';
import { endpointsOf } from './endpoint.ts';
import { recursion } from './shared.ts';

const endpoint = endpointsOf('server');

const warnings = { extension: 'warnings' } as const;

export const warningEndpoints = [
  endpoint('warnings.list', 'GET /1.0/warnings', 'sync', 'Warnings, of all projects unless one is named.', {
    ...warnings,
    ...recursion,
  }),
  endpoint('warnings.get', 'GET /1.0/warnings/:uuid', 'sync', 'One warning.', {
    ...warnings,
    result: Warning,
    etag: true,
  }),
  endpoint('warnings.put', 'PUT /1.0/warnings/:uuid', 'sync', 'Acknowledge it, or make it new again.', {
    ...warnings,
    body: WarningPut,
    etag: true,
  }),
  endpoint('warnings.patch', 'PATCH /1.0/warnings/:uuid', 'sync', 'The same as PUT.', {
    ...warnings,
    body: WarningPut,
    etag: true,
  }),
  endpoint('warnings.delete', 'DELETE /1.0/warnings/:uuid', 'sync', 'Delete it.', warnings),
];
