// The spec's own dialect: envelopes of part 2.1, 202 for some deletes, 204 for renames.
import { statusIn } from '../../api/errors.ts';
import { errorText } from '../../lib/shared/reason.ts';
import type { Dialect } from './dialect.ts';
import { statusCodes } from '../../api/status.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

export const svcDialect: Dialect = {
  name: 'svc',
  headerPrefix: 'x-svc-',
  sync(endpoint, reply) {
    const headers = {
      ...withoutUndefined({ etag: reply.etag, location: reply.location }),
    };
    const status = endpoint.status ?? 200;
    if (status === 204) return { status, headers };
    return {
      status,
      headers,
      body: { type: 'sync', status: 'Success', status_code: statusCodes.success, metadata: reply.metadata },
    };
  },
  async(operation) {
    const url = `/1.0/operations/${operation.id}`;
    return {
      status: 202,
      headers: { location: url },
      body: {
        type: 'async',
        status: 'OK',
        status_code: statusCodes.operationCreated,
        operation: url,
        metadata: operation,
      },
    };
  },
  error(error) {
    const status = statusIn('svc', error.code);
    const metadata = {
      code: error.code,
      message: errorText(error),
      details: error.details.map(({ path, message }) => ({ path, message })),
    };
    return { status, headers: {}, body: { type: 'error', error: 'Failure', error_code: status, metadata } };
  },
};
