// Operation endpoints: requests to the operation manager and back.
import { errors } from '../../api/errors.ts';
import type { Operations } from '../../operations/manager.ts';
import { collection, done, sync, type RouteTable } from '../route.ts';

export function operationRoutes(operations: Operations) {
  return {
    'operations.list': ({ query }) =>
      collection(
        query,
        () => operations.list().map((operation) => `/1.0/operations/${operation.id}`),
        () => operations.list(),
      ),
    'operations.get': (context) => sync(operations.get(context.params.id)),
    'operations.delete': (context) => {
      operations.cancel(context.params.id);
      return done;
    },
    'operations.wait': async (context) => {
      const seconds = parseTimeout(context.query.timeout);
      return sync(
        await operations.wait(context.params.id, seconds === undefined ? undefined : seconds * 1000, context.signal),
      );
    },
  } satisfies Partial<RouteTable>;
}

/** Absent or negative: wait without limit (spec part 8). */
function parseTimeout(text: string | undefined): number | undefined {
  if (text === undefined || text === '') return undefined;
  if (!/^-?\d+$/.test(text)) {
    throw errors.invalid('query', [
      { path: 'timeout', message: `must be a number of seconds, is ${JSON.stringify(text)}` },
    ]);
  }
  const seconds = Number(text);
  return seconds < 0 ? undefined : seconds;
}
