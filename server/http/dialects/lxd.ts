// The dialect of LXD (release 3.12, with additions that clients of 5.0 need): its envelopes, statuses and names, so that lxc, pylxd and
// Ansible work unchanged. lxd-routes.ts has endpoints that differ.
import type { Endpoint } from '../../api/endpoints/endpoint.ts';
import { lxdTextOf, statusIn } from '../../api/errors.ts';
import { errorText } from '../../lib/shared/reason.ts';
import type { Dialect, RenderedAnswer } from './dialect.ts';
import { inWordsOfLxd, inWordsOfLxd5, operationWords, withFailedCommand } from './lxd-spellings.ts';
import { statusCodes } from '../../api/status.ts';
import { withoutUndefined } from '../../lib/shared/without-undefined.ts';

/** LXD always sends all seven members. */
interface Envelope {
  readonly type: 'sync' | 'async' | 'error';
  readonly status?: string;
  readonly status_code?: number;
  readonly operation?: string;
  readonly error_code?: number;
  readonly error?: string;
  readonly metadata?: unknown;
}

const envelope = (members: Envelope): Required<Envelope> => ({
  status: '',
  status_code: 0,
  operation: '',
  error_code: 0,
  error: '',
  metadata: null,
  ...members,
});

const ofRelease3: Dialect = {
  name: 'lxd',
  headerPrefix: 'x-lxd-',
  takesNullTexts: true,
  sync(endpoint, reply) {
    const headers = {
      ...withoutUndefined({ etag: reply.etag, location: reply.location }),
    };
    const metadata = inWordsOfLxd(endpoint.id, reply.metadata);
    const body = envelope({ type: 'sync', status: 'Success', status_code: statusCodes.success, metadata });
    return { status: statusOf(endpoint, reply.location), headers, body };
  },
  async(operation): RenderedAnswer {
    const url = `/1.0/operations/${operation.id}`;
    const body = envelope({
      type: 'async',
      status: 'Operation created',
      status_code: statusCodes.operationCreated,
      operation: url,
      metadata: operationWords(operation),
    });
    return { status: 202, headers: { location: url }, body };
  },
  event: (event) => {
    if (event.type !== 'operation') return event;
    const metadata = operationWords(event.metadata);
    return metadata === event.metadata ? event : { ...event, metadata };
  },
  error(error) {
    const status = statusIn('lxd', error.code);
    const text = lxdTextOf(error.code) ?? errorText(error);
    return { status, headers: {}, body: envelope({ type: 'error', error_code: status, error: text }) };
  },
};

/** What clients of release 5 need to say why a command did not run; other clients expect the exit code alone. */
const ofRelease5: Dialect = {
  ...ofRelease3,
  sync: (endpoint, reply) =>
    ofRelease3.sync(endpoint, { ...reply, metadata: inWordsOfLxd5(endpoint.id, reply.metadata) }),
  event: (event) => {
    const told = ofRelease3.event?.(event) ?? event;
    return told.type === 'operation' ? { ...told, metadata: withFailedCommand(told.metadata) } : told;
  },
};

export const lxdDialect: Dialect = {
  ...ofRelease3,
  forClient: (agent = '') => (/^LXD (?:[5-9]|\d\d)\b/.test(agent) ? ofRelease5 : ofRelease3),
};

/** Real system section 0: create and rename answer 201; deletes without an operation 200, never 202 or 204. */
function statusOf(endpoint: Endpoint, location: string | undefined): number {
  return endpoint.method === 'POST' && location !== undefined ? 201 : 200;
}
